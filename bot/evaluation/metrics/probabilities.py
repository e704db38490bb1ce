"""Metrics of probabilities by their logarithms: log loss in several forms, and the Kullback-Leibler divergence.

MLE-bench's graders refuse rows that do not sum to 1 within 1e-6; here, as on Kaggle, rows are divided by their sums.
"""

import numpy as np

from bot.evaluation.metrics.arrays import Values
from bot.evaluation.metrics.params import Params, number, numbers

EPS = 1e-15
"""What probabilities are kept from 0 and 1 by default."""


def log_loss(y_true: Values, y_pred: Values, params: Params) -> Values:
    """Mean negative log likelihood, in nats: that of each row, (rows, 1).

    Several columns are class probabilities against one-hot truth: rows are divided by their sums first (`normalize`,
    default true; a row of zeros stays as it is), then clipped to [eps, 1 - eps] (`eps`, default 1e-15), as Kaggle
    does. One column is the probability of the positive class.
    """
    if y_pred.shape[1] == 1:
        y_true, y_pred = (np.hstack([1.0 - side, side]) for side in (y_true, y_pred))
        params = {**params, "normalize": False}
    return np.asarray(-(y_true * np.log(_clipped(y_pred, params))).sum(axis=1, keepdims=True))


def mean_columnwise_log_loss(y_true: Values, y_pred: Values, params: Params) -> Values:
    """Mean over the columns of each column's binary log loss, in nats, (rows, columns): a row may have many labels or none.

    Params:
        eps: probabilities are clipped to [eps, 1 - eps]; 1e-15 by default.
    """
    chance = _clipped(y_pred, {**params, "normalize": False})
    return np.asarray(-(y_true * np.log(chance) + (1.0 - y_true) * np.log(1.0 - chance)))


def weighted_log_loss(y_true: Values, y_pred: Values, params: Params) -> Values:
    """Mean over the rows of each row's weighted mean of its cells' binary log losses, in nats, (rows, 1).

    Params:
        weights: of the columns; 1 for each by default.
        positive: what the weight of a cell whose truth is 1 is multiplied by; 1 by default.
        eps: probabilities are clipped to [eps, 1 - eps]; 1e-15 by default.
    """
    column_count = y_true.shape[1]
    weights = np.array(numbers(params, "weights", [1.0] * column_count, count=column_count, minimum=0.0))
    cells = weights * (1.0 + (number(params, "positive", 1.0, minimum=0.0) - 1.0) * y_true)
    losses = mean_columnwise_log_loss(y_true, y_pred, params) * cells
    return np.asarray(losses.sum(axis=1, keepdims=True) / cells.sum(axis=1, keepdims=True))


def kl_divergence(y_true: Values, y_pred: Values, params: Params) -> Values:
    """Mean over the rows of the Kullback-Leibler divergence of the prediction from the truth: sum of t log(t / p), in nats.

    Its shape is (rows, 1). Terms with t = 0 count as 0.

    Params:
        eps: predictions are clipped to [eps, 1 - eps]; 1e-15 by default.
        normalize: whether rows of the prediction are divided by their sums; true by default.
    """
    chance = _clipped(y_pred, params)
    terms = np.where(y_true > 0, y_true * np.log(np.where(y_true > 0, y_true, 1.0) / chance), 0.0)
    return np.asarray(terms.sum(axis=1, keepdims=True))


def _clipped(chance: Values, params: Params) -> Values:
    """Return probabilities of at least `eps` and at most 1 - `eps`, rows of several divided by their sums if to be normalized."""
    eps = number(params, "eps", EPS, minimum=0.0)
    if params.get("normalize", True) and chance.shape[1] > 1:
        sums = chance.sum(axis=1, keepdims=True)
        chance = np.divide(chance, sums, out=np.zeros_like(chance), where=sums != 0)
    return np.clip(chance, eps, 1.0 - eps)
