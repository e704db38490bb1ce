"""The traces of an execution for the guards: predictions, submission, output, and the scores of earlier nodes.

Validation rows are those of the hold-out part alone, as the score is.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.answers import LabelledView, OtherNode
from bot.evaluation.guards.targets import GuardedView
from bot.evaluation.metrics.arrays import Values
from bot.evaluation.metrics.registry import prediction_kind
from bot.evaluation.scoring import Scorer, labels_of, open_scorer
from bot.evaluation.scoring.bank import read_predicted
from bot.evaluation.scoring.prediction_file import read_truth
from bot.evaluation.scoring.scored_rows import ScoredRows, open_holdout
from bot.evaluation.scoring.truth import PredictionSet, Rows, Truth, finite, score_or_nan
from state.errors import UnsupportedLayout


@dataclass(frozen=True)
class Traces:
    """One execution; each of its files is read once. To be closed, as a competition's own grader is a process."""

    labelled: LabelledView
    predictions: Path
    """A file of the bank, or as the script wrote it; so are the submission and what other nodes left."""
    submission: Path
    score: float
    """As the metric gives it."""
    output: str
    earlier_nodes: Sequence[OtherNode] = ()
    board: Sequence[float] = ()
    seed: int = 0
    _resources: ExitStack = field(default_factory=ExitStack, repr=False, compare=False)

    def close(self) -> None:
        """End processes that scoring has started."""
        self._resources.close()
        if "_scorer" in self.__dict__:
            self._scorer.close()

    @cached_property
    def view(self) -> GuardedView:
        """The view for guards."""
        return GuardedView(self.labelled.data, self.labelled.labels, self.labelled.card)

    @cached_property
    def ids(self) -> list[str]:
        """Ids of the validation rows, in the order of `prediction_values` and `truth`."""
        return self.view.asked_ids

    @cached_property
    def prediction_values(self) -> Values:
        """Validation predictions (rows, prediction columns). Raises InvalidSubmission."""
        values = read_predicted(self.predictions, self.view.folder / "sample_validation.csv", self.view.card)
        return np.asarray(values[list(self.view.places)])

    @cached_property
    def truth(self) -> Values:
        """Labels of the validation rows."""
        return read_truth(self.labelled.truth, self.ids, self.view.card)

    @cached_property
    def submitted(self) -> Values:
        """Predictions of the test rows. Raises InvalidSubmission."""
        return self.submitted_by(self.submission)

    def submitted_by(self, submission: Path) -> Values:
        """Return the predictions of the test rows in this or another node's submission. Raises InvalidSubmission."""
        return read_predicted(submission, self.view.folder / "sample_submission.csv", self.view.card)

    @cached_property
    def error(self) -> float | None:
        """Standard error of the score; None if the metric is not defined on enough draws."""
        return self._rows.error(self._scored_predictions, None, self.seed)

    @cached_property
    def perfect(self) -> float | None:
        """Score of the labels themselves."""
        return finite(score_or_nan(self._labels, self._labels.perfect(self.labelled.truth)))

    @cached_property
    def blind(self) -> float | None:
        """Best score of one and the same prediction for all rows, among the means, medians and commonest labels."""
        scores = []
        for cells in self._guesses():
            with closing(self._labels.constant(cells)) as guess:
                scores.append(finite(score_or_nan(self._labels, guess)))
        return max((score for score in scores if score is not None), key=self.oriented, default=None)

    def oriented(self, score: float) -> float:
        """Return the score with its sign turned so that more is better."""
        return self.view.card.oriented(score)

    def unexplained(self, score: float) -> float | None:
        """Return a score's distance from the perfect one as a share of a blind guess's; None if undefined."""
        if self.perfect is None or self.blind is None or self.perfect == self.blind:
            return None
        return (self.perfect - score) / (self.perfect - self.blind)

    def score_of_rows(self, rows: NDArray[np.intp]) -> float | None:
        """Return the score of some validation rows, None where the metric is not defined on them.

        Raises UnsupportedLayout: the competition's grader scores whole files only.
        """
        return finite(score_or_nan(self._labels, self._scored_predictions, self._places[rows]))

    def gain_error(self, other_file: Path) -> float | None:
        """Return the standard error of the difference of the score to that of other validation predictions."""
        rows, own_predictions = self._rows, self._scored_predictions
        gain = rows.gain(own_predictions, rows.truth.read(other_file), None, "", self.seed, self.score)
        return None if gain is None else gain.std_error

    @cached_property
    def _rows(self) -> ScoredRows:
        return open_holdout(self.labelled, self._scorer, self._resources)[0]

    @cached_property
    def _scorer(self) -> Scorer:
        return open_scorer(self.labelled.card, self.labelled.grader)

    @cached_property
    def _labels(self) -> Truth:
        return labels_of(self.labelled, self._scorer)

    @cached_property
    def _scored_predictions(self) -> PredictionSet:
        return self._labels.read(self.predictions)

    @cached_property
    def _places(self) -> Rows:
        """The place of each of `ids` in the truth; equal ones in order of appearance."""
        keys = self._labels.ids
        if keys is None:
            raise UnsupportedLayout(f"the {self._scorer.name} scores whole files only")
        places = defaultdict(list)
        for place in reversed(range(len(keys))):
            places[keys[place]].append(place)
        return np.array([places[id].pop() for id in self.ids])

    def _guesses(self) -> Iterator[Sequence[Any]]:
        """Yield constant predictions for all rows; a competition's own grader gets all of them, as any may score best."""
        numbers = prediction_kind(self.view.card) == "number"
        if not numbers or self._scorer.kind != "registry":
            cells, counts = np.unique(self.truth.astype(str), axis=0, return_counts=True)
            yield cells[counts.argmax()].tolist()
        if numbers:
            truth = self.truth.astype(float)
            yield truth.mean(axis=0).tolist()
            yield np.median(truth, axis=0).tolist()
            if (truth >= 0).all():
                yield np.expm1(np.log1p(truth).mean(axis=0)).tolist()
