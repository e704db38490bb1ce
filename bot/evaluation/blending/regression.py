"""Weights of a blend by regression on its members' out-of-fold predictions, whose sum is free.

Breiman (1996, "Stacked regressions"): least squares, with weights that are not negative, or with a ridge penalty. For log loss
the same is done with logits, so that members which are too sure, or each sure of something else, may count for less or for more
than a mean. A weight below 0 takes out what members have in common. Greedy selection, which takes a few steps, cannot say so
much where many members each know a little.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, nnls
from scipy.special import expit, log_softmax, softmax

from bot.evaluation.blending.spaces import line_space, sums_to_one
from bot.evaluation.blending.weights import LOG_LOSSES, SQUARES, SQUARES_OF_LOGARITHMS
from bot.evaluation.metrics.registry import Space, metric_named
from scrapers.snapshots.card import TaskCard

Values = NDArray[np.float64]

MEMBERS = 60
"""Most members of a regression."""
_LEAST = 0.005
"""Share of the sum of all sizes below which a weight is left out."""
_PENALTY = 10.0
"""Of squared differences from equal weights, in one row's loss: little beside thousands of rows, not beside hundreds."""


@dataclass(frozen=True)
class Regression:
    """What a regression found."""

    weights: Values
    """(members, 1), or (members, columns) where each column has its own."""
    offsets: Values
    """(columns,): added in the space."""


def regression_space(card: TaskCard) -> Space | None:
    """Return the space of the regression; None for a metric that is neither a log loss nor a square."""
    name, space = metric_named(card.metric.name).name, line_space(card)
    if name in LOG_LOSSES and set(card.metric.params) <= {"eps", "normalize"}:
        return space if space == "logit" and card.metric.params.get("normalize", True) else None
    squares = {"mean": SQUARES, "log": SQUARES_OF_LOGARITHMS}.get(space or "", ())
    return space if name in squares and not card.metric.params else None


def regression(parts: Values, truth: Values, card: TaskCard, *, signed: bool, by_column: bool = False) -> Regression:
    """Return weights of members' predictions in the `regression_space`.

    `parts` are (members, rows, columns), `truth` the labels (rows, columns), as the metric takes them. `signed` weights may be
    below 0; a penalty keeps them near equal ones, and there are offsets. `by_column`: each column has weights of its own.
    """
    logistic = metric_named(card.metric.name).name in LOG_LOSSES
    if by_column:
        columns = range(truth.shape[1])
        own = [_fitted(parts[:, :, [at]], truth[:, [at]], card, logistic, signed=signed) for at in columns]
        return Regression(np.hstack([one.weights for one in own]), np.hstack([one.offsets for one in own]))
    return _fitted(parts, truth, card, logistic, signed=signed)


def _fitted(parts: Values, truth: Values, card: TaskCard, logistic: bool, *, signed: bool) -> Regression:
    columns = truth.shape[1]
    if logistic:
        weights, offsets = _log_loss_weights(parts, truth, together=sums_to_one(card), signed=signed)
    else:
        target = truth if line_space(card) == "mean" else np.log1p(truth)
        flat = parts.reshape(len(parts), -1)
        weights, offsets = nnls(flat.T, target.ravel())[0], np.zeros(columns)
        if signed:
            weights, offsets = _ridge(flat, target.ravel(), weights), np.zeros(columns)
            offsets = (target - np.tensordot(weights, parts, 1)).mean(axis=0)
    sizes = np.abs(weights)
    return Regression(np.where(sizes >= _LEAST * sizes.sum(), weights, 0.0)[:, None], offsets)


def _ridge(flat: Values, target: Values, plain: Values) -> Values:
    """Return weights (members,); `plain` ones tell how large one row's loss is."""
    centered, error = flat - flat.mean(axis=1, keepdims=True), float(((plain @ flat - target) ** 2).mean())
    penalty, many = _PENALTY * max(error, 1e-12), len(flat)
    moments = centered @ (target - target.mean()) + penalty / many
    weights: Values = np.linalg.solve(centered @ centered.T + penalty * np.eye(many), moments)
    return weights


def _log_loss_weights(parts: Values, truth: Values, *, together: bool, signed: bool) -> tuple[Values, Values]:
    rows, flat, many = len(truth), parts.reshape(len(parts), -1), len(parts)
    # A weak prior keeps near-copies, which share a weight, from growing apart.
    penalty, middle = (_PENALTY, 1 / many) if signed else (1.0, 0.0)

    def loss(found: Values) -> tuple[float, Values]:
        weights, offsets = found[:many], found[many:]
        logits = (weights @ flat).reshape(truth.shape) + (offsets if signed else 0.0)
        if together:
            value, predicted = -(truth * log_softmax(logits, axis=1)).sum(), softmax(logits, axis=1)
        else:
            value, predicted = (np.logaddexp(0.0, logits) - truth * logits).sum(), expit(logits)
        errors, away = predicted - truth, weights - middle
        gradient = np.append(flat @ errors.ravel() + 2 * penalty * away, errors.sum(axis=0) if signed else [])
        return float(value + penalty * (away**2).sum()) / rows, gradient / rows

    start = np.append(np.full(many, 1 / many), np.zeros(truth.shape[1]) if signed else [])
    bounds = [(None, None) if signed else (0.0, None)] * len(start)
    found: Values = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 500}).x
    return found[:many], found[many:] if signed else np.zeros(truth.shape[1])
