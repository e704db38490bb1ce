"""The two formulas that several competitions' graders share."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np


def dice_coefficient(first: Any, second: Any, both_empty_value: float = float("nan")) -> float:
    """Return 2 |A ∩ B| / (|A| + |B|) of two binary masks of one shape; `both_empty_value` where both are empty.

    Raises AssertionError: the shapes differ.
    """
    a, b = np.asarray(first).astype(bool), np.asarray(second).astype(bool)
    assert a.shape == b.shape, f"the masks have different shapes, {a.shape} and {b.shape}"  # noqa: S101 - graders catch it
    total = int(a.sum()) + int(b.sum())
    return both_empty_value if total == 0 else 2.0 * int((a & b).sum()) / total


def average_precision_at_k(actual: Collection[Any], predictions: Sequence[Any], k: int) -> float:
    """Return the mean, over min(k, number of relevant items), of the precision at each first hit among k predictions."""
    relevant, met, precision_sum = set(actual), set(), 0.0
    if not relevant:
        return 0.0
    for rank, item in enumerate(predictions[:k], 1):
        if item in relevant and item not in met:
            met.add(item)
            precision_sum += len(met) / rank
    return precision_sum / min(len(relevant), k)


def mean_average_precision_at_k(
    actual: Sequence[Collection[Any]], predictions: Sequence[Sequence[Any]], k: int
) -> float:
    """Return the mean over the rows of the average precision at k."""
    return float(np.mean([average_precision_at_k(a, p, k) for a, p in zip(actual, predictions, strict=True)]))
