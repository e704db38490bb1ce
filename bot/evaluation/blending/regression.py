"""Weights of a blend by regression on its members' out-of-fold predictions, whose sum is free.

Breiman (1996, "Stacked regressions"): least squares, with weights that are not negative, or with a ridge penalty. For log loss
the same is done with logits, so that members which are too sure, or each sure of something else, may count for less or for more
than a mean. A weight below 0 takes out what members have in common. Greedy selection, which takes a few steps, cannot say so
much where many members each know a little.

Metrics without such a loss have a surrogate: correlations the squared error (of ranks, where order counts), the area under a
curve the log loss, absolute errors themselves. It only finds the weights; what they are worth the metric says.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, nnls
from scipy.special import expit, log_softmax, softmax

from bot.evaluation.answers.blends import BlendRecipe
from bot.evaluation.blending.ordinal import as_numbers, halfway, levels_of
from bot.evaluation.blending.sample import FittingSample, ScoredRecipe
from bot.evaluation.blending.weights import LOG_LOSSES, SQUARES, SQUARES_OF_LOGARITHMS
from bot.evaluation.metrics.ranking import mean_ranks
from bot.evaluation.metrics.registry import Space, line_space, metric_named, sums_to_one
from bot.evaluation.metrics.same_labels import canonical_label
from bot.evaluation.views.folds import read_classes
from scrapers.snapshots.card import TaskCard

Values = NDArray[np.float64]

MEMBERS = 120
"""Most members of a regression."""
_MIN_WEIGHT_SHARE = 0.005
"""Share of the sum of all sizes below which a weight is left out."""
_PENALTY = 10.0
"""Of squared differences from equal weights, in one row's loss: little beside thousands of rows, not beside hundreds."""
_WIDTH_OF_RANKS = 6.0
_ROUNDS = 10
"""Of least squares that are weighted anew, for absolute errors."""
_NEWTON_STEPS, _TINY = 50, 1e-8
_TINY_ERROR = 0.05
"""Share of the mean absolute error below which errors count as equal."""


_TARGETS: Mapping[Space, Callable[[Values], Values]] = {
    "log": np.log1p,
    "rank": lambda truth: mean_ranks(truth) / (len(truth) + 1),
}
"""What stands for the labels in a space; in others they stand for themselves."""


@dataclass(frozen=True)
class Surrogate:
    """A loss that weights can be fitted by, and the space in which predictions are combined."""

    space: Space
    loss: Literal["logistic", "classes", "squares", "absolutes"]
    """`classes`: the log loss of probabilities that sum to 1, of labels (rows, classes) that are 0 or 1."""


@dataclass(frozen=True)
class Regression:
    """What a regression found."""

    weights: Values
    """(members, 1), or (members, columns) where each column has its own."""
    offsets: Values
    """(columns,): added in the space."""


def surrogates(card: TaskCard) -> Sequence[Surrogate]:
    """Return what a metric's weights may be fitted by; nothing where no loss is near it."""
    name, space, params = metric_named(card.metric.name).name, line_space(card), card.metric.params
    if name in (*LOG_LOSSES, "kl_divergence") and set(params) <= {"eps", "normalize"}:
        loss: Literal["classes", "logistic"] = "classes" if sums_to_one(card) else "logistic"
        return [Surrogate("logit", loss)] if space == "logit" and params.get("normalize", True) else []
    if params:
        return []
    if name in (*SQUARES, "pearson", "r2"):
        return [Surrogate("mean", "squares")]
    if name in SQUARES_OF_LOGARITHMS:
        return [Surrogate("log", "squares")]
    if name in ("mae", "median_absolute_error"):
        return [Surrogate("mean", "absolutes")]
    if name in ("spearman", "gini"):
        return [Surrogate("rank", "squares")]
    if name in ("roc_auc", "average_precision"):
        return [Surrogate("rank", "logistic"), Surrogate("logit", "logistic")]
    return []


def regression(parts: Values, truth: Values, loss: Surrogate, *, signed: bool, by_column: bool = False) -> Regression:
    """Return weights of members' predictions in the space of a surrogate.

    `parts` are (members, rows, columns), `truth` the labels (rows, columns), as the metric takes them. `signed` weights may be
    below 0; a penalty keeps them near equal ones, and there are offsets. `by_column`: each column has weights of its own.
    """
    if by_column:
        columns = range(truth.shape[1])
        fits = [_fitted(parts[:, :, [i]], truth[:, [i]], loss, signed=signed) for i in columns]
        return Regression(np.hstack([fit.weights for fit in fits]), np.hstack([fit.offsets for fit in fits]))
    return _fitted(parts, truth, loss, signed=signed)


def _fitted(parts: Values, truth: Values, loss: Surrogate, *, signed: bool) -> Regression:
    if loss.loss in ("logistic", "classes"):
        # As wide as logits are, for the penalty.
        parts = (parts - 0.5) * _WIDTH_OF_RANKS if loss.space == "rank" else parts
        weights, offsets = _log_loss_weights(parts, truth, together=loss.loss == "classes", signed=signed)
    else:
        target = _TARGETS.get(loss.space, np.asarray)(truth)
        flat = parts.reshape(len(parts), -1)
        weights, offsets = _not_negative(flat, target.ravel()), np.zeros(truth.shape[1])
        if signed:
            weights = _ridge(flat, target.ravel(), weights, _ROUNDS if loss.loss == "absolutes" else 0)
            middle = np.median if loss.loss == "absolutes" else np.mean
            offsets = middle(target - np.tensordot(weights, parts, 1), axis=0)
    sizes = np.abs(weights)
    return Regression(np.where(sizes >= _MIN_WEIGHT_SHARE * sizes.sum(), weights, 0.0)[:, None], offsets)


def _not_negative(flat: Values, target: Values) -> Values:
    """Return weights (members,) of at least 0; all 0 where the fit does not converge."""
    try:
        return np.asarray(nnls(flat.T, target)[0])
    except RuntimeError:
        return np.zeros(len(flat))


def _ridge(flat: Values, target: Values, plain: Values, rounds: int) -> Values:
    """Return weights (members,); `plain` ones tell how large one row's loss is.

    Each further round weights rows by one over their last error, which leads to the least absolute errors.
    """
    errors: NDArray[Any] = plain @ flat - target
    rows: NDArray[Any] = np.ones(len(target))
    for _ in range(rounds + 1):
        centered, middle = flat - np.average(flat, axis=1, weights=rows)[:, None], np.average(target, weights=rows)
        penalty, member_count = _PENALTY * max(float(np.average(errors**2, weights=rows)), 1e-12), len(flat)
        moments = (centered * rows) @ (target - middle) + penalty / member_count
        weights: Values = np.linalg.solve((centered * rows) @ centered.T + penalty * np.eye(member_count), moments)
        errors = target - middle - weights @ centered
        inverse = 1 / np.maximum(np.abs(errors), _TINY_ERROR * np.abs(errors).mean() + 1e-12)
        rows = inverse / inverse.mean()
    return weights


def _log_loss_weights(parts: Values, truth: Values, *, together: bool, signed: bool) -> tuple[Values, Values]:
    member_count, rows, width = len(parts), len(truth), truth.shape[1]
    # A column for each member, and with signed weights one for each offset.
    offsets = np.tile(np.eye(width), (rows, 1)).reshape(rows, width, width)
    inputs = np.moveaxis(parts, 0, -1)
    inputs = np.ascontiguousarray(np.concatenate([inputs, offsets], axis=2) if signed else inputs)
    # A weak prior keeps near-copies, which share a weight, from growing apart.
    prior = np.append(np.full(member_count, 1 / member_count), np.zeros(width if signed else 0))
    middle = prior if signed else np.zeros(member_count)
    penalty = np.append(np.full(member_count, _PENALTY if signed else 1.0), np.full(width if signed else 0, _TINY))

    def loss(parameters: Values) -> tuple[float, Values, Values]:
        logits, away = inputs @ parameters, parameters - middle
        if together:
            value, probabilities = -(truth * log_softmax(logits, axis=1)).sum(), softmax(logits, axis=1)
        else:
            value, probabilities = (np.logaddexp(0.0, logits) - truth * logits).sum(), expit(logits)
        gradient = np.tensordot(probabilities - truth, inputs, 2) + 2 * penalty * away
        return float(value + (penalty * away**2).sum()), gradient, probabilities

    if not signed:
        fit = minimize(lambda x: loss(x)[:2], prior, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * member_count)
        return fit.x, np.zeros(width)
    # Newton's method: near-copies, of which there are many, make all but second-order steps very slow.
    parameters = prior
    value, gradient, probabilities = loss(parameters)
    for _ in range(_NEWTON_STEPS):
        weighted = inputs * (probabilities if together else probabilities * (1 - probabilities))[..., None]
        curvature = np.tensordot(weighted, inputs, ((0, 1), (0, 1))) + 2 * np.diag(penalty)
        if together:
            means = weighted.sum(axis=1)
            curvature -= means.T @ means
        step, length = np.linalg.solve(curvature, gradient), 1.0
        while (following := loss(parameters - length * step))[0] > value and length > _TINY:
            length /= 2
        decrease, parameters = value - following[0], parameters - length * step
        value, gradient, probabilities = following
        if decrease < _TINY * rows:
            break
    return parameters[:member_count], parameters[member_count:]


_CELLS = 60_000
"""Most numbers of a member that a regression of classes is fitted on."""


def regressions_of_numbers(
    sample: FittingSample, nodes: Sequence[int], labels: Values, *, by_column: bool
) -> Iterator[ScoredRecipe]:
    """Yield what each surrogate of the metric makes of members' predictions; `labels` are of the sample (rows, columns)."""
    card = sample.holdout.card
    for surrogate in surrogates(card):
        plain = np.stack([sample.values_in(node, "mean") for node in nodes]).astype(float)
        of_order = metric_named(card.metric.name).of_order
        if surrogate.loss == "logistic" and of_order and not np.isin(labels, (0, 1)).all():
            continue
        if surrogate.space == "logit" and not ((plain >= 0) & (plain <= 1)).all():
            continue
        parts = np.stack([sample.values_in(node, surrogate.space) for node in nodes]).astype(float)
        for signed in (False, True):
            if fitted := _fitted_recipe(
                sample, nodes, parts, surrogate, labels, signed=signed, by_column=signed and by_column
            ):
                yield fitted


def _fitted_recipe(
    sample: FittingSample,
    nodes: Sequence[int],
    parts: Values,
    surrogate: Surrogate,
    labels: Values,
    *,
    signed: bool,
    by_column: bool,
) -> ScoredRecipe | None:
    recipes, has_offsets = [], line_space(sample.holdout.card) is not None
    for rows in sample.rows_to_fit():
        fitted = regression(parts[:, rows], labels[rows].astype(float), surrogate, signed=signed, by_column=by_column)
        sizes = np.abs(fitted.weights).sum(axis=0)
        # Where only the order counts, their scale says nothing.
        weights = fitted.weights if has_offsets else fitted.weights / np.where(sizes > 0, sizes, 1.0)
        by_node = {node: row for node, row in zip(nodes, weights, strict=True) if row.any()}
        if not by_node:
            return None
        columns = {node: row.tolist() for node, row in by_node.items()} if weights.shape[1] > 1 else {}
        mean = {node: float(row.mean()) for node, row in by_node.items()}
        line = {"scale": [1.0], "offset": fitted.offsets.tolist()} if has_offsets else {}
        recipes.append(BlendRecipe(surrogate.space, mean, line, columns))
    return sample.cross_fitted(recipes) if has_offsets else sample.cross_fitted_in_order(recipes)


def regressions_of_labels(
    sample: FittingSample, nodes: Sequence[int], width: int, labels: Values
) -> Iterator[ScoredRecipe]:
    """Yield what regressions make of the numbers that members' labels were made of.

    A row has `width` of them: 1 on the scale of ordered labels, or a probability of each class. `labels` are (rows, 1).
    """
    if width == 1:
        if (levels := levels_of(labels)) is not None:
            yield from _ordered_label_regressions(sample, nodes, labels, levels)
        return
    classes = read_classes(sample.holdout.view.data)
    if (target := _indicators(labels, classes)) is None or target.shape[1] != width:
        return
    parts = np.stack([sample.values_in(node, "classes") for node in nodes]).astype(float)
    sets = sample.rows_to_fit(-(-len(labels) * width // _CELLS))
    # Where the metric is no mean over rows, classes may count alike: rare ones are then named more readily.
    powers = (0.0,) if metric_named(sample.holdout.card.metric.name).rows else (0.0, 0.5, 1.0)
    loss = Surrogate("classes", "classes")
    for signed in (False, True):
        fits = [regression(parts[:, rows], target[rows], loss, signed=signed) for rows in sets]
        for power in powers:
            recipes = []
            for rows, fitted in zip(sets, fits, strict=True):
                rare = power * np.log(np.maximum(target[rows].mean(axis=0), 1 / len(rows)))
                weights, offset = _weights_by_node(nodes, fitted.weights), (fitted.offsets - rare).tolist()
                recipes.append(BlendRecipe("classes", weights, {"offset": offset}, classes=classes))
            if all(recipe.weights for recipe in recipes):
                yield sample.cross_fitted(recipes)


def _ordered_label_regressions(
    sample: FittingSample, nodes: Sequence[int], labels: Values, levels: list[float]
) -> Iterator[ScoredRecipe]:
    parts = np.stack([sample.values_in(node, "numbers") for node in nodes]).astype(float)
    target = as_numbers(labels).astype(float)
    for signed in (False, True):
        recipes = []
        for rows in sample.rows_to_fit():
            fitted = regression(parts[:, rows], target[rows], Surrogate("numbers", "squares"), signed=signed)
            thresholds = [threshold - float(fitted.offsets[0]) for threshold in halfway(levels)["thresholds"]]
            cuts = {"levels": levels, "thresholds": thresholds}
            plain = BlendRecipe("numbers", _weights_by_node(nodes, fitted.weights), cuts)
            recipes.append(sample.with_fitted_cuts(plain, rows) if plain.weights else plain)
        if all(recipe.weights for recipe in recipes):
            yield sample.cross_fitted(recipes)


def _weights_by_node(nodes: Sequence[int], weights: Values) -> dict[int, float]:
    return {node: float(weight) for node, weight in zip(nodes, weights[:, 0], strict=True) if weight}


def _indicators(labels: Values, classes: Sequence[str]) -> Values | None:
    """Return 1 where a row (rows, 1) has a class, else 0 (rows, classes); None: a label is none of them."""
    place = {canonical_label(label): index for index, label in enumerate(classes)}
    class_places = [place.get(canonical_label(label), -1) for label in labels[:, 0]]
    return None if -1 in class_places else np.eye(len(classes))[class_places]
