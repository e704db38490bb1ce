"""What a metric is: a name, a direction, and a function of arrays of shape (rows, prediction columns)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapers.snapshots.card import Direction

Values = NDArray[Any]
Params = Mapping[str, Any]
ScoreFunction = Callable[[Values, Values, Params], float]


@dataclass(frozen=True)
class Metric:
    """A metric: `score(y_true, y_pred, params)`, arrays of shape (n, k); NaN where it is not defined."""

    name: str
    direction: Direction
    score: ScoreFunction
    perfect: Callable[[Values], Values] = np.asarray
    """Returns predictions that are right, of a truth: mostly the truth itself."""


def defined(function: ScoreFunction) -> ScoreFunction:
    """Return a function that gives NaN for no rows or no columns, and does not warn of divisions by zero or overflows."""

    @wraps(function)
    def score(y_true: Values, y_pred: Values, params: Params) -> float:
        if y_true.size == 0 or y_pred.size == 0:
            return float("nan")
        with np.errstate(all="ignore"):
            return float(function(y_true, y_pred, params))

    return score


def mean_over_columns(y_true: Values, y_pred: Values, score: Callable[[Values, Values], float]) -> float:
    """Return the mean of each column's score, of arrays of shape (n,); NaN if any is."""
    return float(np.mean([score(truth, predicted) for truth, predicted in zip(y_true.T, y_pred.T, strict=True)]))
