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
        ordered = column[order]
        # Where each run of equal values begins, and where it ends.
        begins = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
        ends = np.append(begins[1:], len(column))
        ranks[order, place] = np.repeat((begins + ends + 1) / 2, ends - begins)
        if column.dtype.kind == "f" and len(column) and np.isnan(ordered[-1]):
            ranks[:, place] = np.nan
    return ranks.reshape(values.shape)


def spearman(left: Sequence[float] | NDArray[np.float64], right: Sequence[float] | NDArray[np.float64]) -> float | None:
    """Return Spearman's rank correlation (equal values share their mean rank).

    None if there are fewer than two values, or one side is constant and the other is not; 1 if both are constant.
    """
    return pearson(mean_ranks(np.asarray(left)), mean_ranks(np.asarray(right)))


def pearson(left: NDArray[np.float64], right: NDArray[np.float64]) -> float | None:
    """Return Pearson's correlation; None and 1 as `spearman` does."""
    if len(left) < 2:
        return None
    constant = [bool(np.ptp(side) == 0) for side in (left, right)]
    if any(constant):
        return 1.0 if all(constant) else None
    with np.errstate(all="ignore"):
        found = float(np.clip(np.corrcoef(left, right)[0, 1], -1.0, 1.0))
    return found if math.isfinite(found) else None
