"""What the tests of the metrics share: scores of lists, as columns of numbers or of texts."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bot.evaluation.metrics.arrays import Values
from bot.evaluation.metrics.registry import METRICS


def score(name: str, truth: Sequence[Any], predicted: Sequence[Any], **params: Any) -> float:
    """Score values, one a row or one list a row, as a submission's reader hands them over."""
    return METRICS[name].score(columns(name, truth), columns(name, predicted), params)


def columns(name: str, values: Sequence[Any]) -> Values:
    """Return an array (rows, columns): floats for numbers, objects that are texts for the others."""
    rows = [value if isinstance(value, list | tuple | np.ndarray) else [value] for value in values]
    if METRICS[name].input_kind == "number":
        return np.array(rows, dtype=float).reshape(len(rows), len(rows[0]) if rows else 1)
    texts = np.empty((len(rows), len(rows[0]) if rows else 1), dtype=object)
    for at, row in enumerate(rows):
        texts[at] = [str(cell) for cell in row]
    return texts
