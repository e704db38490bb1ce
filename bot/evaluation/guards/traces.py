"""What an execution has left, as the guards look at it: predictions, submission, output, and what others scored before."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from bot.evaluation.directions import prediction_kind
from bot.evaluation.guards.guarded_view import GuardedView
from bot.evaluation.metrics import metric_named
from bot.evaluation.noise import score_noise
from bot.evaluation.submission_file import read_submission, read_truth

__all__ = ["OtherNode", "Traces"]

NOISE_SECONDS = 10.0

Values = NDArray[Any]


class OtherNode(BaseModel):
    """A node that was scored before, on the same view."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    node: int
    score: float
    """As the metric gives it."""
    predictions: Path
    submission: Path


@dataclass(frozen=True)
class Traces:
    """One execution; what is read of it is read once."""

    view: GuardedView
    predictions: Path
    submission: Path
    score: float
    """As the metric gives it."""
    output: str
    others: tuple[OtherNode, ...] = ()
    folds: tuple[float, ...] = ()
    public: Path | None = None
    board: tuple[float, ...] = ()
    seed: int = 0

    @cached_property
    def ids(self) -> list[str]:
        """Ids of the validation rows, in the order of `predicted` and `truth`."""
        return self._read[0]

    @cached_property
    def predicted(self) -> Values:
        """Validation predictions (rows, prediction columns). Raises InvalidSubmission."""
        return self._read[1]

    @cached_property
    def truth(self) -> Values:
        """Labels of the validation rows."""
        return read_truth(self.view.labels / "labels.csv", self.ids, self.view.card)

    @cached_property
    def submitted(self) -> Values:
        """Predictions of the test rows. Raises InvalidSubmission."""
        return read_submission(self.submission, self.view.folder / "sample_submission.csv", self.view.card)[1]

    @cached_property
    def error(self) -> float | None:
        """Standard error of the score by the bootstrap; None where the metric is not defined on enough draws."""
        return self.noise(None)

    @cached_property
    def perfect(self) -> float | None:
        """Score of the labels themselves."""
        return self._metric(self.truth, self.truth)

    @cached_property
    def blind(self) -> float | None:
        """Best score of one and the same prediction for all rows, among the means, medians and commonest labels."""
        known = [score for guess in self._guesses() if (score := self._metric(self.truth, guess)) is not None]
        return max(known, key=self.oriented, default=None)

    def oriented(self, score: float) -> float:
        """Return the score with its sign turned so that more is better."""
        return self.view.card.oriented(score)

    def unexplained(self, score: float) -> float | None:
        """Return how far a score is from the perfect one, as a share of what a blind guess is; None: that is not defined."""
        if self.perfect is None or self.blind is None or self.perfect == self.blind:
            return None
        return (self.perfect - score) / (self.perfect - self.blind)

    def scored(self, rows: NDArray[np.intp]) -> float | None:
        """Return the score of some validation rows, None where the metric is not defined on them."""
        return self._metric(self.truth[rows], self.predicted[rows])

    def noise(self, other: Path | None) -> float | None:
        """Return the standard error of the score, or of its difference to that of other validation predictions."""
        found = score_noise(
            self.view.labels,
            self.view.folder,
            self.predictions,
            other,
            self.view.card,
            self.seed,
            NOISE_SECONDS,
        )
        value: float | None = found["score_error" if other is None else "gain_error"]
        return value

    @cached_property
    def _read(self) -> tuple[list[str], Values]:
        return read_submission(self.predictions, self.view.folder / "sample_validation.csv", self.view.card)

    def _metric(self, truth: Values, predicted: Values) -> float | None:
        card = self.view.card
        score = metric_named(card.metric.name).score(truth, predicted, card.metric.params)
        return score if math.isfinite(score) else None

    def _guesses(self) -> Sequence[Values]:
        rows = len(self.truth)
        if prediction_kind(self.view.card) != "number":
            cells, counts = np.unique(self.truth.astype(str), axis=0, return_counts=True)
            return [np.repeat(cells[[counts.argmax()]].astype(object), rows, axis=0)]
        truth = self.truth.astype(float)
        levels = [truth.mean(axis=0), np.median(truth, axis=0)]
        if (truth >= 0).all():
            levels.append(np.expm1(np.log1p(truth).mean(axis=0)))
        return [np.repeat(level[None, :], rows, axis=0) for level in levels]
