"""Constant predictions: a file with the same values in every row."""

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.answers.findings import Finding, passed, spoiling
from bot.evaluation.guards.traces import Traces, Values

FEWEST = 10
"""Rows that any model distinguishes."""
_CLOSE = 1e-9


def constant_predictions(guard: str, traces: Traces) -> Finding:
    """Look for a file, for the test or the validation rows, whose rows are all alike although the labels are not."""
    if _alike(traces.truth):
        return passed(guard, "all labels are the same")
    for name, values in (("submission", traces.submitted), ("validation predictions", traces.predicted)):
        if len(values) >= FEWEST and _alike(values):
            sentence = f"all {len(values)} rows of the {name} have the same value"
            return spoiling(guard, sentence, rows=len(values))
    return passed(guard, "predictions differ from row to row")


def _alike(values: Values) -> bool:
    if values.dtype == object:
        return len({tuple(row) for row in values.tolist()}) <= 1
    numbers: NDArray[np.float64] = values.astype(float)
    return bool((np.ptp(numbers, axis=0) <= _CLOSE * np.maximum(1.0, np.abs(numbers).max(axis=0))).all())
