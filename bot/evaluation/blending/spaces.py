"""Combines members' predictions: into a space, the weighted mean or the vote there, and back, perhaps calibrated."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, softmax

from bot.evaluation.answers.blends import Recipe
from bot.evaluation.blending.ordinal import as_numbers, cut
from bot.evaluation.blending.ties import with_ties
from bot.evaluation.blending.votes import VOTES
from bot.evaluation.metrics.ranks import mean_ranks
from bot.evaluation.metrics.registry import METRICS, Space, prediction_bounds
from bot.evaluation.scoring.bank import read_numbers, read_predicted
from scrapers.snapshots.card import TaskCard
from state.errors import InvalidSubmission

Values = NDArray[Any]
Entered = Callable[[int, Space], Values]
"""Returns a member's predictions in a space, by its node."""

_FLOOR = 1e-6
"""Probabilities are kept so far from 0 and 1 where logits are taken: one member that is too sure must not decide alone."""


def sums_to_one(card: TaskCard) -> bool:
    """Return whether each row's predictions count as shares of their sum."""
    metric = METRICS.get(card.metric.name)
    return metric is not None and prediction_bounds(card) is metric.rescaled


NUMBERS: Sequence[Space] = ("classes", "numbers")
"""Spaces of the numbers that labels were made of."""


def read_entered(file: Path, space: Space, sample: Path, card: TaskCard) -> Values:
    """Return the predictions of a file, in a bank or as a script wrote it, in a space.

    Raises:
        InvalidSubmission: they cannot be read, or lack the numbers of that space.
    """
    if space not in NUMBERS:
        return enter(space, read_predicted(file, sample, card), card)
    if (numbers := read_numbers(file)) is None:
        raise InvalidSubmission(f"{file.name} does not say what its labels were made of.")
    return enter(space, numbers, card)


def enter(space: Space, values: Values, card: TaskCard) -> Values:
    """Return predictions (rows, columns) in a space; those that are voted on, or whose places count, as they are.

    Ranks are those among all rows that are given, as shares of their number.
    """
    if space in VOTES or space == "numbers":
        return values
    if space == "classes":
        return np.log(np.maximum(values, _FLOOR))
    if space == "ordinal":
        return as_numbers(values)
    if sums_to_one(card):
        sums = values.sum(axis=1, keepdims=True)
        values = np.where(sums > 0, values / np.where(sums > 0, sums, 1.0), 1 / values.shape[1])
    if space == "rank":
        ranks: Values = mean_ranks(values) / (len(values) + 1)
        return ranks
    if space == "log":
        # Metrics of this space either refuse what is negative, or it is tried beside the mean.
        return np.log1p(np.maximum(values, 0.0))
    if space == "logit":
        kept = np.clip(values, _FLOOR, 1 - _FLOOR)
        return np.log(kept) if sums_to_one(card) else np.asarray(logit(kept))
    return values


def leave(space: Space, values: Values, card: TaskCard) -> Values:
    """Return the predictions that stand at these places of a space."""
    if space == "log":
        return np.expm1(values)
    if space == "logit":
        return np.asarray(softmax(values, axis=1) if sums_to_one(card) else expit(values))
    # Sums of ranks are often equal, but for rounding.
    return np.round(values, 9) if space == "rank" else values


def combine(recipe: Recipe, entered: Entered, card: TaskCard, rows: NDArray[np.int64] | slice = slice(None)) -> Values:
    """Return a recipe's predictions (rows, columns), within the metric's bounds, of its members' in the recipe's space."""
    # The heaviest comes first, as ties are its; equal ones in an order that no rerun changes.
    weights = dict(sorted(recipe.weights.items(), key=lambda item: (-item[1], item[0])))
    parts = {node: entered(node, recipe.space)[rows] for node in weights}
    if recipe.space in VOTES:
        return VOTES[recipe.space](np.array(list(weights.values())), np.stack(list(parts.values())), card)
    own: Mapping[int, Values] = {node: np.asarray(recipe.columns.get(node, weight)) for node, weight in weights.items()}
    if recipe.space in ("ordinal", "numbers"):
        return cut(weighted_sum(own, parts), recipe.calibration)
    if recipe.space == "classes":
        best = (weighted_sum(own, parts) + np.asarray(recipe.calibration["offset"])).argmax(axis=1)
        labels: Values = np.array(recipe.classes, dtype=object)[best][:, None]
        return labels
    values = calibrated(leave(recipe.space, weighted_sum(own, parts), card), recipe.calibration, card)
    return with_ties(values, recipe.ties) if recipe.ties else values


def mixed(space: Space, weights: Mapping[int, Values], entered: Entered, card: TaskCard) -> Values:
    """Return what weights of their own for each row (rows, columns or 1), by node, make of numbers; nothing is calibrated."""
    made = weighted_sum(weights, {node: entered(node, space) for node in weights})
    return calibrated(leave(space, made, card), {}, card)


def weighted_sum(weights: Mapping[int, Values], parts: Mapping[int, Values]) -> Values:
    """Return the sum over nodes of weight times part; weights are one number, or one a column, or one a row and column."""
    total: Values = sum((weight * parts[node] for node, weight in weights.items()), np.zeros(1))
    return total


def line_space(card: TaskCard) -> Space | None:
    """Return the space in which combined predictions are scaled and moved; None where the metric sees their order alone."""
    metric = METRICS.get(card.metric.name)
    if metric is None or metric.spaces[0] not in ("mean", "log"):
        return None
    return "logit" if "logit" in metric.spaces else metric.spaces[0]


def calibrated(values: Values, calibration: Mapping[str, Any], card: TaskCard) -> Values:
    """Return combined predictions after the steps of `Recipe.calibration`, within the metric's bounds."""
    space = line_space(card)
    if space is not None and "scale" in calibration:
        scale, offset = np.asarray(calibration["scale"]), np.asarray(calibration.get("offset", [0.0]))
        values = leave(space, enter(space, values, card) * scale + offset, card)
    if "clip" in calibration:
        (least,) = calibration["clip"]
        values = np.clip(values, least, 1 - least)
        if sums_to_one(card):
            values = values / values.sum(axis=1, keepdims=True)
    bounds = prediction_bounds(card)
    return np.clip(values, bounds.low, bounds.high)
