"""Rank correlation with ties."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


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
