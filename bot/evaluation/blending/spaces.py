"""Combines members' predictions: into a space, the weighted mean or the vote there, and back, perhaps calibrated."""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, softmax

from bot.evaluation.answers.blends import BlendRecipe
from bot.evaluation.blending.ordinal import as_numbers, cut
from bot.evaluation.metrics.arrays import Values
from bot.evaluation.metrics.masks import read_mask
from bot.evaluation.metrics.ranking import mean_ranks
from bot.evaluation.metrics.registry import Space, line_space, prediction_bounds, prediction_kind, sums_to_one
from bot.evaluation.metrics.same_labels import canonical_labels
from bot.evaluation.scoring.bank import read_numbers, read_predicted
from scrapers.snapshots.card import TaskCard
from state.errors import InvalidSubmission

Vote = Callable[[NDArray[np.float64], Values, TaskCard], Values]
"""Takes weights (members), texts (members, rows, columns) and the task; returns texts (rows, columns)."""

_HALF = 0.5 + 1e-9
"""Of the weight; what sums of weights round away counts as half."""


def _most_votes(weights: NDArray[np.float64], texts: Values, card: TaskCard) -> Values:
    """Return in each cell the text with the most weight; labels that are one number are one label."""
    labels = np.stack([canonical_labels(t) for t in texts]) if prediction_kind(card) == "label" else texts
    votes = [sum(weight * (label == vote) for weight, vote in zip(weights, labels, strict=True)) for label in labels]
    winner = np.argmax(np.round(np.stack(votes).astype(float), 9), axis=0)
    return np.asarray(np.take_along_axis(texts, winner[None], axis=0)[0])


def _cell_by_cell(function: Callable[[Sequence[float], Sequence[str]], str]) -> Vote:
    def vote(weights: NDArray[np.float64], texts: Values, card: TaskCard) -> Values:
        # Python's own numbers are much faster here.
        shares, cells = weights.tolist(), zip(*(t.ravel().tolist() for t in texts), strict=True)
        return np.array([function(shares, cell) for cell in cells], dtype=object).reshape(texts.shape[1:])

    return vote


def _labels_of_most(weights: Sequence[float], lists: Sequence[str]) -> str:
    """Return the labels that half of the weight names; the first list where there is none."""
    votes: dict[str, float] = defaultdict(float)
    for weight, text in zip(weights, lists, strict=True):
        for label in dict.fromkeys(text.split()):
            votes[label] += weight
    return " ".join(label for label, weight in votes.items() if weight > _HALF) or lists[0]


def _fused_ranking(weights: Sequence[float], lists: Sequence[str]) -> str:
    """Return the labels by their mean place (Borda), as many as the longest list has; what a list lacks comes at its end."""
    rankings = [list(dict.fromkeys(text.split())) for text in lists]
    longest = max(map(len, rankings))
    points: dict[str, float] = defaultdict(float)
    for weight, labels in zip(weights, rankings, strict=True):
        for place, label in enumerate(labels):
            points[label] += weight * (longest - place)
    return " ".join(sorted(points, key=lambda label: -round(points[label], 9))[:longest])


def _pixels_of_most(weights: Sequence[float], masks: Sequence[str]) -> str:
    """Return the pixels that more than half of the weight has, as run lengths; an unreadable mask is an empty one."""
    steps: list[tuple[int, float]] = []
    for weight, text in zip(weights, masks, strict=True):
        if (mask := read_mask(text)) is not None:
            steps += [(int(begin), weight) for begin in mask.begins]
            steps += [(int(end), -weight) for end in mask.run_ends]
    runs: list[tuple[int, int]] = []
    height, run_start = 0.0, None
    for place, step in sorted(steps):
        height += step
        if height > _HALF and run_start is None:
            run_start = place
        elif height <= _HALF and run_start is not None:
            runs.append((run_start, place - run_start))
            run_start = None
    if not any(length for _, length in runs):
        return next((text for text in masks if text.strip() in ("", "-")), "")
    return " ".join(f"{begin} {length}" for begin, length in runs if length)


VOTES: Mapping[Space, Vote] = {
    "vote": _most_votes,
    "share": _cell_by_cell(_labels_of_most),
    "fusion": _cell_by_cell(_fused_ranking),
    "pixels": _cell_by_cell(_pixels_of_most),
}


Ties = Mapping[int, Sequence[float]]
"""By column, the shares of rows that lie below each level but the first."""

TIED = ("spearman",)
"""Metrics that ties in predictions may help."""
_MOST_LEVELS = 50


def with_ties(values: Values, ties: Ties) -> Values:
    """Return predictions (rows, columns) in which columns have as many levels, from 0 to 1, as `ties` says."""
    tied = np.array(values, dtype=float)
    for column, shares in ties.items():
        places = (mean_ranks(tied[:, column]) - 0.5) / len(tied)
        tied[:, column] = np.searchsorted(shares, places, side="right") / len(shares)
    return tied


def fit_ties(
    values: Values, labels: Values, folds: NDArray[np.int64], score: Callable[[Values, Values], float]
) -> dict[int, Sequence[float]]:
    """Return ties for the columns where they gain more than the standard error of their gain, by folds.

    The predictions (rows, columns) have not seen the labels; `score` takes labels and predictions of one column (rows, 1).
    """
    ties: dict[int, Sequence[float]] = {}
    for column in range(labels.shape[1]):
        truth = labels[:, [column]]
        levels, counts = np.unique(truth, return_counts=True)
        if not 1 < len(levels) <= min(_MOST_LEVELS, len(truth) // 2):
            continue
        shares = (np.cumsum(counts)[:-1] / len(truth)).tolist()
        plain, tied = values[:, [column]], with_ties(values[:, [column]], {0: shares})
        rows = [folds == fold for fold in np.unique(folds)]
        gains = np.array([score(truth[fold], tied[fold]) - score(truth[fold], plain[fold]) for fold in rows])
        if np.isfinite(gains).all() and gains.mean() > gains.std(ddof=1) / math.sqrt(len(gains)):
            ties[column] = shares
    return ties


SpaceReader = Callable[[int, Space], Values]
"""Returns a member's predictions in a space, by its node."""

_FLOOR = 1e-6
"""Probabilities are kept so far from 0 and 1 where logits are taken: one member that is too sure must not decide alone."""


NUMBERS: Sequence[Space] = ("classes", "numbers")
"""Spaces of the numbers that labels were made of."""


def read_entered(file: Path, space: Space, sample: Path, card: TaskCard) -> Values:
    """Return the predictions of a file, in a bank or as a script wrote it, in a space.

    Raises InvalidSubmission: they cannot be read, or lack the numbers of that space.
    """
    if space not in NUMBERS:
        return enter(space, read_predicted(file, sample, card), card)
    if (numbers := read_numbers(file)) is None:
        raise InvalidSubmission(f"{file.name} does not contain the numbers from which its labels were derived.")
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
        return np.asarray(mean_ranks(values) / (len(values) + 1))
    if space == "log":
        # Metrics of this space either refuse what is negative, or it is tried beside the mean.
        return np.log1p(np.maximum(values, 0.0))
    if space == "logit":
        clipped = np.clip(values, _FLOOR, 1 - _FLOOR)
        return np.log(clipped) if sums_to_one(card) else np.asarray(logit(clipped))
    return values


def leave(space: Space, values: Values, card: TaskCard) -> Values:
    """Return the predictions that stand at these places of a space."""
    if space == "log":
        return np.expm1(values)
    if space == "logit":
        return np.asarray(softmax(values, axis=1) if sums_to_one(card) else expit(values))
    # Sums of ranks are often equal, but for rounding.
    return np.round(values, 9) if space == "rank" else values


def combine(
    recipe: BlendRecipe, values_in: SpaceReader, card: TaskCard, rows: NDArray[np.int64] | slice = slice(None)
) -> Values:
    """Return a recipe's predictions (rows, columns), within the metric's bounds, of its members' in the recipe's space."""
    # The heaviest comes first, as ties are its; equal ones in an order that no rerun changes.
    weights = dict(sorted(recipe.weights.items(), key=lambda item: (-item[1], item[0])))
    parts = {node: values_in(node, recipe.space)[rows] for node in weights}
    if recipe.space in VOTES:
        return VOTES[recipe.space](np.array(list(weights.values())), np.stack(list(parts.values())), card)
    weights_by_node: Mapping[int, Values] = {
        node: np.asarray(recipe.columns.get(node, weight)) for node, weight in weights.items()
    }
    if recipe.space in ("ordinal", "numbers"):
        return cut(weighted_sum(weights_by_node, parts), recipe.calibration)
    if recipe.space == "classes":
        best = (weighted_sum(weights_by_node, parts) + np.asarray(recipe.calibration["offset"])).argmax(axis=1)
        return np.asarray(np.array(recipe.classes, dtype=object)[best][:, None])
    values = calibrated(leave(recipe.space, weighted_sum(weights_by_node, parts), card), recipe.calibration, card)
    return with_ties(values, recipe.ties) if recipe.ties else values


def mixed(space: Space, weights: Mapping[int, Values], values_in: SpaceReader, card: TaskCard) -> Values:
    """Return what weights of their own for each row (rows, columns or 1), by node, make of numbers; nothing is calibrated."""
    mixture = weighted_sum(weights, {node: values_in(node, space) for node in weights})
    return calibrated(leave(space, mixture, card), {}, card)


def weighted_sum(weights: Mapping[int, Values], parts: Mapping[int, Values]) -> Values:
    """Return the sum over nodes of weight times part; weights are one number, or one a column, or one a row and column."""
    return np.asarray(sum((weight * parts[node] for node, weight in weights.items()), np.zeros(1)))


def calibrated(values: Values, calibration: Mapping[str, Any], card: TaskCard) -> Values:
    """Return combined predictions after the steps of `Recipe.calibration`, within the metric's bounds."""
    space = line_space(card)
    if space is not None and "scale" in calibration:
        scale, offset = np.asarray(calibration["scale"]), np.asarray(calibration.get("offset", [0.0]))
        values = leave(space, enter(space, values, card) * scale + offset, card)
    if "clip" in calibration:
        (min_probability,) = calibration["clip"]
        values = np.clip(values, min_probability, 1 - min_probability)
        if sums_to_one(card):
            values = values / values.sum(axis=1, keepdims=True)
    bounds = prediction_bounds(card)
    return np.clip(values, bounds.low, bounds.high)
