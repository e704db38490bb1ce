"""Metrics of quantities by how well predictions go with the truth: R², correlations, Gini, angles, likelihood.

All are the mean over the columns where there are several, but for the two that say otherwise.
"""

import math

import numpy as np

from bot.evaluation.metrics.arrays import Values, mean_over_columns
from bot.evaluation.metrics.params import Params, number
from bot.evaluation.metrics.ranking import mean_ranks
from bot.evaluation.metrics.ranking import pearson as pearson_of_column


def r2(y_true: Values, y_pred: Values, params: Params) -> float:
    """Coefficient of determination: 1 - sum of squared errors / sum of squared deviations of the truth from its mean.

    As scikit-learn's `r2_score` (`uniform_average`); but NaN where a column's truth is constant, where that gives 0 or 1.
    """
    spread = ((y_true - y_true.mean(axis=0)) ** 2).sum(axis=0)
    if (np.ptp(y_true, axis=0) == 0).any():
        return math.nan
    return float((1 - ((y_true - y_pred) ** 2).sum(axis=0) / spread).mean())


def pearson(y_true: Values, y_pred: Values, params: Params) -> float:
    """Pearson's correlation; NaN where either side of a column is constant."""
    return mean_over_columns(y_true, y_pred, _correlation)


def spearman(y_true: Values, y_pred: Values, params: Params) -> float:
    """Mean over the columns of Spearman's rank correlation (ties share their mean rank); NaN where a side is constant."""
    return mean_over_columns(mean_ranks(y_true), mean_ranks(y_pred), _correlation)


def _correlation(truth: Values, prediction: Values) -> float:
    if np.ptp(truth) == 0 or np.ptp(prediction) == 0:
        return math.nan
    correlation = pearson_of_column(truth, prediction)
    return math.nan if correlation is None else correlation


def gini(y_true: Values, y_pred: Values, params: Params) -> float:
    """Normalised Gini coefficient: that of the truth sorted by the prediction, divided by that sorted by itself.

    As Kaggle's Allstate, Liberty Mutual and Porto Seguro have it: the area between the Lorenz curve and the diagonal. It is
    the sum of truth * (rank - mean rank) over the same sum with the truth's own ranks; equal predictions share their mean
    rank, where Kaggle's takes them in the order of the rows. For truth of 0 and 1 it is 2 AUC - 1. NaN where the truth is
    constant.
    """

    def gini_of_column(truth: Values, prediction: Values) -> float:
        if np.ptp(truth) == 0:
            return math.nan
        middle = (len(truth) + 1) / 2
        return float((truth * (mean_ranks(prediction) - middle)).sum() / (truth * (mean_ranks(truth) - middle)).sum())

    return mean_over_columns(y_true, y_pred, gini_of_column)


def laplace_log_likelihood(y_true: Values, y_pred: Values, params: Params) -> float:
    """Modified Laplace log likelihood: the mean of -sqrt(2) error / sigma - log(sqrt(2) sigma).

    The first prediction column is the quantity, the second its standard deviation (sigma), whose truth is not looked at;
    NaN unless there are just two.

    Params:
        clip: the least sigma; 70 by default.
        most: the largest absolute error; 1000 by default.
    """
    if y_true.shape[1] != 2 or y_pred.shape[1] != 2:
        return math.nan
    root = math.sqrt(2)
    error = np.minimum(np.abs(y_true[:, 0] - y_pred[:, 0]), number(params, "most", 1000.0, minimum=0.0))
    sigma = np.maximum(y_pred[:, 1], number(params, "clip", 70.0))
    if (sigma <= 0).any():
        return math.nan
    return float((-root * error / sigma - np.log(root * sigma)).mean())


def mean_angular_error(y_true: Values, y_pred: Values, params: Params) -> float:
    """Mean angle, in radians (0 to pi), between the true and the predicted direction.

    The columns are azimuth and zenith in radians; NaN unless there are just two. The angle is the arc cosine of the unit
    vectors' product, cut to [-1, 1].
    """
    if y_true.shape[1] != 2 or y_pred.shape[1] != 2:
        return math.nan
    product = (_unit_vectors(y_true) * _unit_vectors(y_pred)).sum(axis=1)
    return float(np.arccos(np.clip(product, -1.0, 1.0)).mean())


def _unit_vectors(angles: Values) -> Values:
    azimuth, zenith = angles.T
    return np.column_stack([np.sin(zenith) * np.cos(azimuth), np.sin(zenith) * np.sin(azimuth), np.cos(zenith)])
