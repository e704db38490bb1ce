"""The official metrics by name; all take arrays of shape (rows, prediction columns)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import mean_absolute_error, roc_auc_score, root_mean_squared_error

from bot.evaluation.directions import METRIC_DIRECTIONS
from bot.evaluation.labels import canonical_labels
from scrapers.card import Direction
from state.errors import UsageError

Values = NDArray[Any]
Params = Mapping[str, Any]
ScoreFunction = Callable[[Values, Values, Params], float]


@dataclass(frozen=True)
class Metric:
    """A metric: `score(y_true, y_pred, params)`, arrays of shape (n, k); NaN where it is not defined."""

    name: str
    direction: Direction
    score: ScoreFunction


def log_loss(y_true: Values, y_pred: Values, params: Params) -> float:
    """Mean negative log likelihood, in nats.

    Several columns are class probabilities against one-hot truth: rows are divided by their sums first (`normalize`,
    default true; a row of zeros stays as it is), then clipped to [eps, 1 - eps] (`eps`, default 1e-15), as Kaggle
    does. One column is the probability of the positive class.
    """
    eps = float(params.get("eps", 1e-15))
    chance = np.asarray(y_pred, dtype=float)
    truth = np.asarray(y_true, dtype=float)
    if chance.shape[1] == 1:
        chance = np.hstack([1.0 - chance, chance])
        truth = np.hstack([1.0 - truth, truth])
    elif params.get("normalize", True):
        sums = chance.sum(axis=1, keepdims=True)
        chance = np.divide(chance, sums, out=np.zeros_like(chance), where=sums != 0)
    chance = np.clip(chance, eps, 1.0 - eps)
    return float(-(truth * np.log(chance)).sum(axis=1).mean())


def rmse(y_true: Values, y_pred: Values, params: Params) -> float:
    """Root mean squared error, all cells pooled."""
    return float(root_mean_squared_error(np.ravel(y_true), np.ravel(y_pred)))


def rmsle(y_true: Values, y_pred: Values, params: Params) -> float:
    """Root mean squared error of log(1 + value), all cells pooled."""
    return rmse(np.log1p(np.asarray(y_true, dtype=float)), np.log1p(np.asarray(y_pred, dtype=float)), params)


def mean_columnwise_rmsle(y_true: Values, y_pred: Values, params: Params) -> float:
    """Mean over the columns of each column's RMSLE."""
    columns = range(y_true.shape[1])
    return float(np.mean([rmsle(y_true[:, [c]], y_pred[:, [c]], params) for c in columns]))


def mae(y_true: Values, y_pred: Values, params: Params) -> float:
    """Mean absolute error, all cells pooled."""
    return float(mean_absolute_error(np.ravel(y_true), np.ravel(y_pred)))


def roc_auc(y_true: Values, y_pred: Values, params: Params) -> float:
    """Area under the ROC curve, the mean over the columns; NaN where a column's truth has one class only."""
    scores = []
    for column in range(y_true.shape[1]):
        truth = y_true[:, column]
        if np.unique(truth).size != 2:
            return float("nan")
        scores.append(roc_auc_score(truth, y_pred[:, column]))
    return float(np.mean(scores))


def accuracy(y_true: Values, y_pred: Values, params: Params) -> float:
    """Share of rows whose labels all match; labels that are numbers are compared as numbers (`1` is `1.0`)."""
    return float(np.equal(canonical_labels(y_true), canonical_labels(y_pred)).all(axis=1).mean())


_FUNCTIONS: Mapping[str, ScoreFunction] = {
    "log_loss": log_loss,
    "rmse": rmse,
    "rmsle": rmsle,
    "mean_columnwise_rmsle": mean_columnwise_rmsle,
    "mae": mae,
    "roc_auc": roc_auc,
    "accuracy": accuracy,
}

METRICS: Mapping[str, Metric] = {
    name: Metric(name, METRIC_DIRECTIONS[name], function) for name, function in _FUNCTIONS.items()
}


def metric_named(name: str) -> Metric:
    """Return the metric of that name.

    Raises:
        UsageError: no metric has that name.
    """
    if name not in METRICS:
        raise UsageError(f"The metric {name!r} is not known; known are {', '.join(METRICS)}.")
    return METRICS[name]
