"""Order metrics of out-of-fold predictions: computed for each fold and averaged.

The models of two folds need not give the same numbers to equally good rows, so that their order across folds is an accident.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.metrics.registry import metric_per_fold
from bot.evaluation.scoring.truth import PartOfTruth, Predicted, Rows, Truth
from scrapers.snapshots.card import TaskCard


def scored_by_fold(truth: Truth, folds: NDArray[np.int64], card: TaskCard) -> Truth:
    """Return a truth that scores each fold by itself where the metric asks for that; else the truth itself."""
    return PerFold(truth, np.arange(len(folds)), folds) if metric_per_fold(card) else truth


@dataclass(frozen=True)
class PerFold(PartOfTruth):
    """A `Truth` whose score is the mean of the folds' scores, weighted by their rows; folds without a score are left out."""

    folds: NDArray[np.int64]
    """The fold of each of these rows."""

    def score(self, predicted: Predicted, rows: Rows | None = None, taken: Rows | None = None) -> float | None:
        """Score each fold's rows by themselves."""
        rows = self.places if rows is None else rows

        def one(own: NDArray[np.int64]) -> float | None:
            return self.whole.score(predicted, rows[own], None if taken is None else taken[own])

        return self._mean(one, rows)

    def draws(self, predicted: Predicted) -> Callable[[Rows], float]:
        """Return a function that scores draws of rows."""
        score = self.whole.draws(predicted)

        def drawn(rows: Rows) -> float:
            found = self._mean(lambda own: score(rows[own]), rows)
            return np.nan if found is None else found

        return drawn

    def fault(self, rows: Rows | None = None) -> str | None:
        """Say why no predictions have a score: that of the last fold without one, where none has one."""
        rows = self.places if rows is None else rows
        faults = [self.whole.fault(rows[own]) for own in self._parts(rows)]
        return faults[-1] if faults and all(faults) else None

    def _parts(self, rows: Rows) -> Sequence[NDArray[np.int64]]:
        own = self.folds[rows]
        return [np.flatnonzero(own == fold) for fold in np.unique(own)]

    def _mean(self, score: Callable[[NDArray[np.int64]], float | None], rows: Rows) -> float | None:
        each = [(score(own), len(own)) for own in self._parts(rows)]
        known = weighted_mean([(np.nan if value is None else value, many) for value, many in each])
        return known if np.isfinite(known) else None


def weighted_mean(scores: Sequence[tuple[float, int]]) -> float:
    """Return the mean of folds' scores, weighted by their rows, those that are NaN left out; NaN if all are."""
    known = [(score, rows) for score, rows in scores if np.isfinite(score)]
    return float(sum(score * rows for score, rows in known) / sum(rows for _, rows in known)) if known else float("nan")
