"""Metrics of scores by the order in which they put rows, or labels of a row: areas under curves, precision, lwlrap.

Only the order counts, but for `probabilistic_f1`. The truth of each column is 0 and 1; NaN where a column has one class only.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.metrics.arrays import Values, mean_over_columns
from bot.evaluation.metrics.params import Params, number


def mean_ranks(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return the place of each value in its column, from 1; equal ones share the mean of theirs.

    As `scipy.stats.rankdata(values, axis=0)`, whose import takes a worker longer than most runs rank for, for (rows,) or
    (rows, columns). A column with a NaN has NaN everywhere.
    """
    values = np.asarray(values)
    columns = values if values.ndim == 2 else values[:, None]
    ranks = np.empty(columns.shape)
    for place, column in enumerate(columns.T):
        order = np.argsort(column, kind="stable")
        sorted_column = column[order]
        # Where each run of equal values begins, and where it ends.
        begins = np.flatnonzero(np.append(True, sorted_column[1:] != sorted_column[:-1]))
        group_ends = np.append(begins[1:], len(column))
        ranks[order, place] = np.repeat((begins + group_ends + 1) / 2, group_ends - begins)
        if column.dtype.kind == "f" and len(column) and np.isnan(sorted_column[-1]):
            ranks[:, place] = np.nan
    return ranks.reshape(values.shape)


def spearman(x: Sequence[float] | NDArray[np.float64], y: Sequence[float] | NDArray[np.float64]) -> float | None:
    """Return Spearman's rank correlation (equal values share their mean rank).

    None if there are fewer than two values, or one side is constant and the other is not; 1 if both are constant.
    """
    return pearson(mean_ranks(np.asarray(x)), mean_ranks(np.asarray(y)))


def pearson(x: NDArray[np.float64], y: NDArray[np.float64]) -> float | None:
    """Return Pearson's correlation; None and 1 as `spearman` does."""
    if len(x) < 2:
        return None
    constant = [bool(np.ptp(side) == 0) for side in (x, y)]
    if any(constant):
        return 1.0 if all(constant) else None
    with np.errstate(all="ignore"):
        correlation = float(np.clip(np.corrcoef(x, y)[0, 1], -1.0, 1.0))
    return correlation if math.isfinite(correlation) else None


def roc_auc(y_true: Values, y_pred: Values, params: Params) -> float:
    """Area under the ROC curve, the mean over the columns; NaN where a column's truth has one class only."""
    low, high = y_true.min(axis=0), y_true.max(axis=0)
    positive = y_true == high
    if ((low == high) | ~(positive | (y_true == low)).all(axis=0)).any():
        return math.nan
    # By the rank sum, as Mann and Whitney have it.
    positives, sums = positive.sum(axis=0, dtype=float), np.where(positive, mean_ranks(y_pred), 0.0).sum(axis=0)
    return float(((sums - positives * (positives + 1) / 2) / (positives * (len(positive) - positives))).mean())


def average_precision(y_true: Values, y_pred: Values, params: Params) -> float:
    """Average precision (scikit-learn): each threshold's precision, weighted by its gain in recall; the mean over the columns."""
    positive = y_true == 1
    if not (positive | (y_true == 0)).all() or (positive == positive[0]).all(axis=0).any():
        return math.nan
    return float((_precisions(positive, y_pred, axis=0).sum(axis=0) / positive.sum(axis=0)).mean())


def lwlrap(y_true: Values, y_pred: Values, params: Params) -> float:
    """Label-weighted label-ranking average precision: of each true label of each row, the precision of the row's ranking down
    to it; the mean over all true labels of all rows.

    scikit-learn's `label_ranking_average_precision_score`, each row weighted by the number of its labels; rows without
    labels do not count, NaN if none has any.
    """  # noqa: D205 - one sentence
    truth = y_true > 0
    labels = truth.sum()
    return float(_precisions(truth, y_pred, axis=1).sum() / labels) if labels else math.nan


def _precisions(truth: Values, scores: Values, axis: int) -> Values:
    """Return the precision of the order along an axis down to each true cell, equal scores taken together, and 0 elsewhere."""
    from scipy.stats import rankdata  # its import takes long, and most runs need none

    sides = np.where(truth, -scores, np.inf), -scores
    positive_ranks, all_ranks = (rankdata(side, "max", axis=axis) for side in sides)
    return np.where(truth, positive_ranks / all_ranks, 0.0)


def probabilistic_f1(y_true: Values, y_pred: Values, params: Params) -> float:
    """F-beta with probabilities in place of decisions, the mean over the columns (pF1 at the default beta of 1).

    A row of truth 1 adds its probability to the true positives, one of truth 0 to the false positives; precision and recall
    follow from their sums. Probabilities are cut to [0, 1]; 0 where nothing is found, NaN where no truth is 1.

    Params:
        beta: how much more recall counts than precision; 1 by default.
    """
    square = number(params, "beta", 1.0, minimum=0.0) ** 2

    def f_of_column(truth: Values, chance: Values) -> float:
        positive = truth > 0
        cut = np.clip(chance, 0.0, 1.0)
        hits, wrong = cut[positive].sum(), cut[~positive].sum()
        if not positive.any():
            return math.nan
        return float((1 + square) * hits / (square * positive.sum() + hits + wrong)) if hits > 0 else 0.0

    return mean_over_columns(y_true, y_pred, f_of_column)
