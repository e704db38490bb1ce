"""The truth that predictions are scored against: answers or labels, for either source of scores."""

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.metrics.registry import metric_per_fold
from scrapers.snapshots.card import TaskCard
from state.errors import GraderStopped, InvalidSubmission

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class PredictionSet:
    """Predictions of the right form, as read by a truth and for that one alone; to be closed."""

    name: str
    values: NDArray[Any] | None = None
    handle: int = 0
    resources: ExitStack = field(default_factory=ExitStack, repr=False, compare=False)
    """Its resources: the grader's table, and a file that was written for it."""

    def close(self) -> None:
        """Release its resources."""
        self.resources.close()


class Truth(Protocol):
    """Answers or labels, and the scores of predictions against them."""

    @property
    def ids(self) -> Sequence[str] | None:
        """Key of each row (`row_key`), in the order of row numbers; None if only whole files can be scored."""

    @property
    def repeats(self) -> bool:
        """Whether a row may count several times in one score."""

    def read(self, path: Path) -> PredictionSet:
        """Read a file of predictions; raises InvalidSubmission if its form differs from the sample's."""

    def perfect(self, path: Path) -> PredictionSet:
        """Use a file of answers (its id and prediction columns) as predictions."""

    def constant(self, cells: Sequence[Any]) -> PredictionSet:
        """Use the same prediction, a cell for each prediction column, for all rows; to be closed."""

    def score(self, predictions: PredictionSet, rows: Rows | None = None, donors: Rows | None = None) -> float | None:
        """Return the score, of some rows or of all; None if it is not finite (`fault` and `why_not` give reasons).

        Rows are numbers, None means all; `donors` has for each of them the number of the row whose prediction stands for it.

        Raises:
            InvalidSubmission: a grade.py refuses the predictions, fails on them, or does not end.
            SnapshotError: the grade.py cannot be used at all.
            InfrastructureFailure: the grade.py exceeds its limits whatever its input, or does not start.
        """

    def draws(self, predictions: PredictionSet) -> Callable[[Rows], float]:
        """Return a function that scores draws of rows of these predictions, fast if possible; NaN: a draw has no score.

        It raises as `score_or_nan` does.
        """

    def fault(self, rows: Rows | None = None) -> str | None:
        """Return why not even right predictions have a score; None if they have. Raises as `score`, but no refusal."""

    def why_not(self, predictions: PredictionSet, rows: Rows | None = None) -> str:
        """Return why predictions have no finite score, although right ones have one."""


@dataclass(frozen=True)
class PartOfTruth:
    """A `Truth` of some rows of another, which reads predictions of all rows."""

    truth: Truth
    places: Rows
    """The rows, by their numbers in it."""

    @property
    def ids(self) -> Sequence[str] | None:
        """See `Truth`."""
        all_ids = self.truth.ids
        return None if all_ids is None else [all_ids[place] for place in self.places]

    @property
    def repeats(self) -> bool:
        """See `Truth`."""
        return self.truth.repeats

    def read(self, path: Path) -> PredictionSet:
        """Read a file of predictions of all rows."""
        return self.truth.read(path)

    def perfect(self, path: Path) -> PredictionSet:
        """Use a file of answers to all rows as predictions."""
        return self.truth.perfect(path)

    def constant(self, cells: Sequence[Any]) -> PredictionSet:
        """Use one prediction for all rows."""
        return self.truth.constant(cells)

    def score(self, predictions: PredictionSet, rows: Rows | None = None, donors: Rows | None = None) -> float | None:
        """Score predictions on these rows, or on some of them, numbered within this part."""
        return self.truth.score(predictions, self._places(rows), None if donors is None else self.places[donors])

    def draws(self, predictions: PredictionSet) -> Callable[[Rows], float]:
        """Return a function that scores draws of these rows, numbered within this part."""
        score = self.truth.draws(predictions)
        return lambda rows: score(self.places[rows])

    def fault(self, rows: Rows | None = None) -> str | None:
        """Say why no predictions of these rows have a score."""
        return self.truth.fault(self._places(rows))

    def why_not(self, predictions: PredictionSet, rows: Rows | None = None) -> str:
        """Say why predictions of these rows have none."""
        return self.truth.why_not(predictions, self._places(rows))

    def _places(self, rows: Rows | None) -> Rows:
        return self.places if rows is None else self.places[rows]


def finite(value: float) -> float | None:
    """Return a number; None if it is not finite."""
    return value if math.isfinite(value) else None


def score_or_nan(
    truth: Truth, predictions: PredictionSet, rows: Rows | None = None, donors: Rows | None = None
) -> float:
    """Return a score as `Truth.score` does, or NaN where there is none, be it that a grader cannot do with a part.

    Raises SnapshotError: the grade.py cannot be used at all; InfrastructureFailure: its process does not start.
    """
    try:
        score = truth.score(predictions, rows, donors)
    except (InvalidSubmission, GraderStopped):
        return math.nan
    return math.nan if score is None else score


def scored_by_fold(truth: Truth, folds: NDArray[np.int64], card: TaskCard) -> Truth:
    """Return a truth that scores each fold by itself where the metric asks for that; else the truth itself."""
    return PerFold(truth, np.arange(len(folds)), folds) if metric_per_fold(card) else truth


@dataclass(frozen=True)
class PerFold(PartOfTruth):
    """A `Truth` whose score is the mean of the folds' scores, weighted by their rows; folds without a score are left out."""

    folds: NDArray[np.int64]
    """The fold of each of these rows."""

    def score(self, predictions: PredictionSet, rows: Rows | None = None, donors: Rows | None = None) -> float | None:
        """Score each fold's rows by themselves."""
        rows = self.places if rows is None else rows

        def score_of_fold(fold_rows: NDArray[np.int64]) -> float | None:
            return self.truth.score(predictions, rows[fold_rows], None if donors is None else donors[fold_rows])

        return self._mean(score_of_fold, rows)

    def draws(self, predictions: PredictionSet) -> Callable[[Rows], float]:
        """Return a function that scores draws of rows."""
        score = self.truth.draws(predictions)

        def mean_over_folds(rows: Rows) -> float:
            mean_score = self._mean(lambda fold_rows: score(rows[fold_rows]), rows)
            return np.nan if mean_score is None else mean_score

        return mean_over_folds

    def fault(self, rows: Rows | None = None) -> str | None:
        """Say why no predictions have a score: that of the last fold without one, where none has one."""
        rows = self.places if rows is None else rows
        faults = [self.truth.fault(rows[fold_rows]) for fold_rows in self._parts(rows)]
        return faults[-1] if faults and all(faults) else None

    def _parts(self, rows: Rows) -> Sequence[NDArray[np.int64]]:
        folds = self.folds[rows]
        return [np.flatnonzero(folds == fold) for fold in np.unique(folds)]

    def _mean(self, score: Callable[[NDArray[np.int64]], float | None], rows: Rows) -> float | None:
        folds = [(score(fold_rows), len(fold_rows)) for fold_rows in self._parts(rows)]
        mean = weighted_mean([(np.nan if value is None else value, rows_in) for value, rows_in in folds])
        return mean if np.isfinite(mean) else None


def weighted_mean(scores: Sequence[tuple[float, int]]) -> float:
    """Return the mean of folds' scores, weighted by their rows, those that are NaN left out; NaN if all are."""
    finite = [(score, rows) for score, rows in scores if np.isfinite(score)]
    return float(sum(score * rows for score, rows in finite) / sum(rows for _, rows in finite)) if finite else math.nan
