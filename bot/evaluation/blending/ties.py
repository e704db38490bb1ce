"""Ties of a combination: where labels repeat, as ratings do, a rank correlation is better if predictions repeat as often.

Means of several members have no ties, whatever their members had. The combination's order is cut into levels that are as
frequent as those of the labels, in each column where that gains.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.metrics.ranks import mean_ranks

Values = NDArray[Any]
Ties = Mapping[int, Sequence[float]]
"""By column, the shares of rows that lie below each level but the first."""

TIED = ("spearman",)
"""Metrics that ties in predictions may help."""
_MOST_LEVELS = 50


def with_ties(values: Values, ties: Ties) -> Values:
    """Return predictions (rows, columns) in which columns have as many levels, from 0 to 1, as `ties` says."""
    tied = np.array(values, dtype=float)
    for column, shares in ties.items():
        places = (mean_ranks(tied[:, column]) - 0.5) / len(tied)
        tied[:, column] = np.searchsorted(shares, places, side="right") / len(shares)
    return tied


def fit_ties(
    values: Values, labels: Values, folds: NDArray[np.int64], score: Callable[[Values, Values], float]
) -> dict[int, Sequence[float]]:
    """Return ties for the columns where they gain more than the standard error of their gain, by folds.

    Args:
        values: predictions that have not seen the labels (rows, columns).
        score: takes labels and predictions of one column (rows, 1); more is better.
    """
    ties: dict[int, Sequence[float]] = {}
    for column in range(labels.shape[1]):
        truth = labels[:, [column]]
        levels, counts = np.unique(truth, return_counts=True)
        if not 1 < len(levels) <= min(_MOST_LEVELS, len(truth) // 2):
            continue
        shares = (np.cumsum(counts)[:-1] / len(truth)).tolist()
        plain, tied = values[:, [column]], with_ties(values[:, [column]], {0: shares})
        rows = [folds == fold for fold in np.unique(folds)]
        gains = np.array([score(truth[fold], tied[fold]) - score(truth[fold], plain[fold]) for fold in rows])
        if np.isfinite(gains).all() and gains.mean() > gains.std(ddof=1) / math.sqrt(len(gains)):
            ties[column] = shares
    return ties
