"""Rank correlation with ties."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def spearman(left: Sequence[float] | NDArray[np.float64], right: Sequence[float] | NDArray[np.float64]) -> float | None:
    """Return Spearman's rank correlation (equal values share their mean rank).

    None if there are fewer than two values, or one side is constant and the other is not; 1 if both are constant.
    """
    return pearson(mean_ranks(left), mean_ranks(right))


def mean_ranks(values: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rank of each value, from 1; equal values share the mean of their ranks."""
    _, place, counts = np.unique(np.asarray(values, dtype=float), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: NDArray[np.float64] = (last - (counts - 1) / 2)[place]
    return ranks


def pearson(left: NDArray[np.float64], right: NDArray[np.float64]) -> float | None:
    """Return Pearson's correlation; None and 1 as `spearman` does."""
    if len(left) < 2:
        return None
    constant = [bool(np.ptp(side) == 0) for side in (left, right)]
    if any(constant):
        return 1.0 if all(constant) else None
    centred = [side - side.mean() for side in (np.asarray(left, dtype=float), np.asarray(right, dtype=float))]
    scale = np.sqrt((centred[0] ** 2).sum() * (centred[1] ** 2).sum())
    if scale == 0:
        return None
    return float(np.clip((centred[0] * centred[1]).sum() / scale, -1.0, 1.0))
