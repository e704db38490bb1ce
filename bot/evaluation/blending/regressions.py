"""Recipes by regression: of predicted numbers, and of the numbers that labels were made of."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.answers.blends import Recipe
from bot.evaluation.blending.ordinal import as_numbers, halfway, levels_of
from bot.evaluation.blending.regression import Surrogate, regression, surrogates
from bot.evaluation.blending.sample import Sample, ScoredRecipe
from bot.evaluation.blending.spaces import line_space
from bot.evaluation.metrics.registry import metric_named
from bot.evaluation.metrics.same_labels import canonical_label
from bot.evaluation.views.folds import read_classes

Values = NDArray[Any]

_CELLS = 60_000
"""Most numbers of a member that a regression of classes is fitted on."""


def regressions_of_numbers(
    sample: Sample, nodes: Sequence[int], labels: Values, *, by_column: bool
) -> Iterator[ScoredRecipe]:
    """Yield what each surrogate of the metric makes of members' predictions.

    Args:
        labels: of the sample (rows, columns).
        by_column: whether members may have a weight of their own in each column.
    """
    card = sample.holdout.card
    for surrogate in surrogates(card):
        plain = np.stack([sample.entered(node, "mean") for node in nodes]).astype(float)
        of_order = metric_named(card.metric.name).of_order
        if surrogate.loss == "logistic" and of_order and not np.isin(labels, (0, 1)).all():
            continue
        if surrogate.space == "logit" and not ((plain >= 0) & (plain <= 1)).all():
            continue
        parts = np.stack([sample.entered(node, surrogate.space) for node in nodes]).astype(float)
        for signed in (False, True):
            if fitted := _fitted_recipe(
                sample, nodes, parts, surrogate, labels, signed=signed, by_column=signed and by_column
            ):
                yield fitted


def _fitted_recipe(
    sample: Sample,
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
        by_node = {node: each for node, each in zip(nodes, weights, strict=True) if each.any()}
        if not by_node:
            return None
        columns = {node: each.tolist() for node, each in by_node.items()} if weights.shape[1] > 1 else {}
        mean = {node: float(each.mean()) for node, each in by_node.items()}
        line = {"scale": [1.0], "offset": fitted.offsets.tolist()} if has_offsets else {}
        recipes.append(Recipe(surrogate.space, mean, line, columns))
    return sample.cross_fitted(recipes) if has_offsets else sample.cross_fitted_in_order(recipes)


def regressions_of_labels(sample: Sample, nodes: Sequence[int], width: int, labels: Values) -> Iterator[ScoredRecipe]:
    """Yield what regressions make of the numbers that members' labels were made of.

    Args:
        width: numbers of a row: 1 on the scale of ordered labels, or a probability of each class.
        labels: of the sample (rows, 1).
    """
    if width == 1:
        if (levels := levels_of(labels)) is not None:
            yield from _ordered_label_regressions(sample, nodes, labels, levels)
        return
    classes = read_classes(sample.holdout.view.data)
    if (target := _indicators(labels, classes)) is None or target.shape[1] != width:
        return
    parts = np.stack([sample.entered(node, "classes") for node in nodes]).astype(float)
    sets = sample.rows_to_fit(-(-len(labels) * width // _CELLS))
    # Where the metric is no mean over rows, classes may count alike: rare ones are then named more readily.
    powers = (0.0,) if metric_named(sample.holdout.card.metric.name).rows else (0.0, 0.5, 1.0)
    for signed in (False, True):
        fits = [
            regression(parts[:, rows], target[rows], Surrogate("classes", "classes"), signed=signed) for rows in sets
        ]
        for power in powers:
            recipes = []
            for rows, fitted in zip(sets, fits, strict=True):
                rare = power * np.log(np.maximum(target[rows].mean(axis=0), 1 / len(rows)))
                offset = (fitted.offsets - rare).tolist()
                recipes.append(Recipe("classes", _weights(nodes, fitted.weights), {"offset": offset}, classes=classes))
            if all(recipe.weights for recipe in recipes):
                yield sample.cross_fitted(recipes)


def _ordered_label_regressions(
    sample: Sample, nodes: Sequence[int], labels: Values, levels: list[float]
) -> Iterator[ScoredRecipe]:
    parts = np.stack([sample.entered(node, "numbers") for node in nodes]).astype(float)
    target = as_numbers(labels).astype(float)
    for signed in (False, True):
        recipes = []
        for rows in sample.rows_to_fit():
            fitted = regression(parts[:, rows], target[rows], Surrogate("numbers", "squares"), signed=signed)
            thresholds = [threshold - float(fitted.offsets[0]) for threshold in halfway(levels)["thresholds"]]
            plain = Recipe("numbers", _weights(nodes, fitted.weights), {"levels": levels, "thresholds": thresholds})
            recipes.append(sample.with_fitted_cuts(plain, rows) if plain.weights else plain)
        if all(recipe.weights for recipe in recipes):
            yield sample.cross_fitted(recipes)


def _weights(nodes: Sequence[int], weights: Values) -> dict[int, float]:
    return {node: float(weight) for node, weight in zip(nodes, weights[:, 0], strict=True) if weight}


def _indicators(labels: Values, classes: Sequence[str]) -> Values | None:
    """Return 1 where a row (rows, 1) has a class, else 0 (rows, classes); None: a label is none of them."""
    place = {canonical_label(label): at for at, label in enumerate(classes)}
    at = [place.get(canonical_label(label), -1) for label in labels[:, 0]]
    return None if -1 in at else np.eye(len(classes))[at]
