"""Rank correlation with ties."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata


def spearman(left: Sequence[float] | NDArray[np.float64], right: Sequence[float] | NDArray[np.float64]) -> float | None:
    """Return Spearman's rank correlation (equal values share their mean rank).

    None if there are fewer than two values, or one side is constant and the other is not; 1 if both are constant.
    """
    return pearson(rankdata(left), rankdata(right))


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
