"""Metrics of quantities by their errors: absolute, squared, of logarithms, relative.

All are 0 for perfect predictions and take any number of columns; NaN for no rows.

Squared and absolute errors are computed here: scikit-learn's checks of its arguments take longer than thousands of rows, and
a blend scores thousands of predictions. It is imported where it is called: that takes a second.
"""

import math

import numpy as np

from bot.evaluation.metrics.arrays import Values
from bot.evaluation.metrics.params import Params, number, numbers
from state.errors import UsageError


def rmse(y_true: Values, y_pred: Values, params: Params) -> float:
    """Root mean squared error, all cells pooled."""
    return math.sqrt(mse(y_true, y_pred, params))


def squares(y_true: Values, y_pred: Values, params: Params) -> Values:
    """Return the mean squared error of each row, (rows, 1)."""
    return np.asarray(((y_true - y_pred) ** 2).mean(axis=1, keepdims=True))


def mse(y_true: Values, y_pred: Values, params: Params) -> float:
    """Mean squared error, all cells pooled."""
    return float(((y_true - y_pred) ** 2).mean())


def rmsle(y_true: Values, y_pred: Values, params: Params) -> float:
    """Root mean squared error of log(1 + value), all cells pooled."""
    return math.sqrt(msle(y_true, y_pred, params))


def log_squares(y_true: Values, y_pred: Values, params: Params) -> Values:
    """Return the mean squared error of log(1 + value) of each row, (rows, 1)."""
    return squares(np.log1p(y_true), np.log1p(y_pred), params)


def msle(y_true: Values, y_pred: Values, params: Params) -> float:
    """Mean squared error of log(1 + value), all cells pooled."""
    return float(column_log_squares(y_true, y_pred, params).mean())


def mean_columnwise_rmsle(y_true: Values, y_pred: Values, params: Params) -> float:
    """Mean over the columns of each column's RMSLE."""
    return float(np.sqrt(column_log_squares(y_true, y_pred, params).mean(axis=0)).mean())


def column_log_squares(y_true: Values, y_pred: Values, params: Params) -> Values:
    """Return the squared error of log(1 + value) of each cell."""
    return np.asarray((np.log1p(y_true) - np.log1p(y_pred)) ** 2)


def mean_columnwise_rmse(y_true: Values, y_pred: Values, params: Params) -> float:
    """Mean over the columns of each column's RMSE (MCRMSE), as Kaggle's OpenVaccine and Africa Soil have it.

    Params:
        columns: the places of the prediction columns that count, from 0; all by default.
    """
    return float(np.sqrt(column_squares(y_true, y_pred, params).mean(axis=0)).mean())


def column_squares(y_true: Values, y_pred: Values, params: Params) -> Values:
    """Return the squared error of each cell of the columns that count."""
    width = y_true.shape[1]
    columns = [int(place) for place in numbers(params, "columns", range(width), minimum=0)]
    if not columns or max(columns) >= width:
        raise UsageError(f"metric.params.columns is {columns}; it must list prediction columns from 0 to {width - 1}.")
    return np.asarray(((y_true - y_pred) ** 2)[:, columns])


def mae(y_true: Values, y_pred: Values, params: Params) -> Values:
    """Mean absolute error, all cells pooled: that of each row, (rows, 1)."""
    return np.asarray(np.abs(y_true - y_pred).mean(axis=1, keepdims=True))


def median_absolute_error(y_true: Values, y_pred: Values, params: Params) -> float:
    """Median absolute error, all cells pooled (scikit-learn)."""
    from sklearn.metrics import median_absolute_error as of_scikit_learn

    return float(of_scikit_learn(np.ravel(y_true), np.ravel(y_pred)))


def mape(y_true: Values, y_pred: Values, params: Params) -> float:
    """Mean absolute percentage error, all cells pooled: the mean of |truth - prediction| / |truth|, as a share (1 is 100%).

    As scikit-learn has it: a truth of 0 counts as one of 2e-16, which makes the score enormous.
    """
    from sklearn.metrics import mean_absolute_percentage_error

    return float(mean_absolute_percentage_error(np.ravel(y_true), np.ravel(y_pred)))


def smape(y_true: Values, y_pred: Values, params: Params) -> float:
    """Symmetric mean absolute percentage error, all cells pooled: the mean of |t - p| / ((|t| + |p|) / 2).

    As Kaggle's Web Traffic and Playground competitions have it: in percent, from 0 to 200; 0 where both are 0.

    Params:
        scale: what the mean is multiplied by; 100 by default.
    """
    size = (np.abs(y_true) + np.abs(y_pred)) / 2
    share = np.divide(np.abs(y_true - y_pred), size, out=np.zeros_like(size), where=size > 0)
    return float(number(params, "scale", 100.0) * share.mean())


def rmspe(y_true: Values, y_pred: Values, params: Params) -> float:
    """Root mean squared percentage error, all cells pooled: the root of the mean of ((t - p) / t)^2, as a share.

    As Kaggle's Rossmann and Optiver competitions have it: cells whose truth is 0 are left out; NaN if all are.
    """
    counts = y_true != 0
    return float(np.sqrt((((y_true - y_pred)[counts] / y_true[counts]) ** 2).mean())) if counts.any() else math.nan


def pinball_loss(y_true: Values, y_pred: Values, params: Params) -> float:
    """Mean quantile loss: q (t - p) where the prediction p is too low, (1 - q) (p - t) where it is too high.

    As scikit-learn's `mean_pinball_loss`; the mean over all cells. At q = 0.5 it is half the MAE.

    Params:
        quantiles: q of each prediction column; 0.5 for all by default.
    """
    width = y_true.shape[1]
    quantiles = np.array(numbers(params, "quantiles", [0.5] * width, count=width, minimum=0.0))
    if (quantiles > 1).any():
        raise UsageError(f"metric.params.quantiles is {quantiles.tolist()}; quantiles must be between 0 and 1.")
    off = y_true - y_pred
    return float(np.maximum(quantiles * off, (quantiles - 1) * off).mean())
