"""Helpers of metrics' formulas on arrays of shape (rows, prediction columns): means over columns, and undefined scores."""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.metrics.params import Params

Values = NDArray[Any]
ScoreFunction = Callable[[Values, Values, Params], float]


def defined(formula: Callable[[Values, Values, Params], float | Values]) -> ScoreFunction:
    """Return a function that gives a formula's score, or the mean of its losses.

    For no rows or no columns it gives NaN, and it does not warn of divisions by zero or overflows.
    """

    @wraps(formula)
    def score(y_true: Values, y_pred: Values, params: Params) -> float:
        if y_true.size == 0 or y_pred.size == 0:
            return float("nan")
        with np.errstate(all="ignore"):
            return float(np.mean(formula(y_true, y_pred, params)))

    return score


def mean_over_columns(y_true: Values, y_pred: Values, score: Callable[[Values, Values], float]) -> float:
    """Return the mean of each column's score, of arrays of shape (n,); NaN if any is."""
    return float(np.mean([score(truth, prediction) for truth, prediction in zip(y_true.T, y_pred.T, strict=True)]))


def mean_over_texts(y_true: Values, y_pred: Values, score: Callable[[str, str], float]) -> float:
    """Return the mean of the scores of all cells' texts."""
    return float(np.mean([score(truth, prediction) for truth, prediction in text_pairs(y_true, y_pred)]))


def text_pairs(y_true: Values, y_pred: Values) -> Iterator[tuple[str, str]]:
    """Yield the true and the predicted text of each cell; several columns are as good as more rows."""
    for truth, prediction in zip(y_true.ravel(), y_pred.ravel(), strict=True):
        yield str(truth), str(prediction)
