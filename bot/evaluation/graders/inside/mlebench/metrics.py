"""The two formulas that several competitions' graders share."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np


def dice_coefficient(first: Any, second: Any, both_empty_value: float = float("nan")) -> float:
    """Return 2 |A ∩ B| / (|A| + |B|) of two binary masks of one shape; `both_empty_value` where both are empty.

    Raises:
        AssertionError: the shapes differ.
    """
    a, b = np.asarray(first).astype(bool), np.asarray(second).astype(bool)
    assert a.shape == b.shape, f"the masks have the shapes {a.shape} and {b.shape}"  # noqa: S101 - graders catch it
    together = int(a.sum()) + int(b.sum())
    return both_empty_value if together == 0 else 2.0 * int((a & b).sum()) / together


def average_precision_at_k(actual: Collection[Any], predicted: Sequence[Any], k: int) -> float:
    """Return the mean, over min(k, number of relevant items), of the precision at each first hit among k predictions."""
    wanted, met, gained = set(actual), set(), 0.0
    if not wanted:
        return 0.0
    for rank, item in enumerate(predicted[:k], 1):
        if item in wanted and item not in met:
            met.add(item)
            gained += len(met) / rank
    return gained / min(len(wanted), k)


def mean_average_precision_at_k(actual: Sequence[Collection[Any]], predicted: Sequence[Sequence[Any]], k: int) -> float:
    """Return the mean over the rows of the average precision at k."""
    return float(np.mean([average_precision_at_k(a, p, k) for a, p in zip(actual, predicted, strict=True)]))
