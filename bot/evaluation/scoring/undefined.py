"""Why a metric of the registry gives no score: because of the truth, which no predictions help, or of the predictions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bot.evaluation.metrics.arrays import Values
from bot.evaluation.metrics.registry import Metric, Params
from state.errors import UsageError

__all__ = ["fault_of_predictions", "fault_of_truth"]

_SHOWN = 3


def fault_of_truth(metric: Metric, truth: Values, params: Params, columns: Sequence[str]) -> str | None:
    """Say why not even right predictions have a score, with the columns; None: they have one.

    Raises:
        UsageError: a parameter of the metric is wrong.
    """
    if np.isfinite(metric.score(truth, metric.perfect(truth), params)):
        return None
    faulty = [at for at in range(truth.shape[1]) if not _scores_alone(metric, truth[:, [at]], params)]
    return _constants("truth", truth, faulty, columns) or "even right predictions have none"


def fault_of_predictions(predicted: Values, columns: Sequence[str]) -> str:
    """Say why predictions have no score, where others would have one."""
    every = range(predicted.shape[1])
    return _constants("prediction", predicted, every, columns) or "it is not defined on these predictions"


def _scores_alone(metric: Metric, truth: Values, params: Params) -> bool:
    try:
        return bool(np.isfinite(metric.score(truth, metric.perfect(truth), params)))
    except UsageError:  # the parameters are those of all columns together
        return False


def _constants(what: str, values: Values, places: Sequence[int], columns: Sequence[str]) -> str | None:
    """Name the columns among some that are constant; None: none is."""
    found = [at for at in places if len(values) and (values[:, at] == values[0, at]).all()]
    if not found:
        return None
    told = [f"{columns[at]} ({_cell(values[0, at])})" for at in found[:_SHOWN]]
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    several = "columns" if len(found) > 1 else "column"
    return f"the {what} of {several} {', '.join(told)}{more} is constant in all {len(values):,} rows"


def _cell(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else repr(str(value)[:40])
