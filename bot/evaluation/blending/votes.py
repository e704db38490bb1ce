"""Combines members' texts by votes: labels, lists of labels, ranked lists, masks.

The heaviest member comes first, and wins ties.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.metrics.registry import Space, prediction_kind
from bot.evaluation.metrics.run_lengths import read_mask
from bot.evaluation.metrics.same_labels import canonical_labels
from scrapers.snapshots.card import TaskCard

Weights = NDArray[np.float64]
Texts = NDArray[Any]
Vote = Callable[[Weights, Texts, TaskCard], Texts]
"""Takes weights (members), texts (members, rows, columns) and the task; returns texts (rows, columns)."""

_HALF = 0.5 + 1e-9
"""Of the weight; what sums of weights round away counts as half."""


def _most_votes(weights: Weights, texts: Texts, card: TaskCard) -> Texts:
    """Return in each cell the text with the most weight; labels that are one number are one label."""
    known = np.stack([canonical_labels(one) for one in texts]) if prediction_kind(card) == "label" else texts
    votes = [sum(weight * (own == other) for weight, other in zip(weights, known, strict=True)) for own in known]
    winner = np.argmax(np.round(np.stack(votes).astype(float), 9), axis=0)
    chosen: Texts = np.take_along_axis(texts, winner[None], axis=0)[0]
    return chosen


def _cell_by_cell(function: Callable[[Sequence[float], Sequence[str]], str]) -> Vote:
    def vote(weights: Weights, texts: Texts, card: TaskCard) -> Texts:
        # Python's own numbers are much faster here.
        shares, cells = weights.tolist(), zip(*(one.ravel().tolist() for one in texts), strict=True)
        return np.array([function(shares, own) for own in cells], dtype=object).reshape(texts.shape[1:])

    return vote


def _labels_of_most(weights: Sequence[float], lists: Sequence[str]) -> str:
    """Return the labels that half of the weight names; the first list where there is none."""
    votes: dict[str, float] = defaultdict(float)
    for weight, text in zip(weights, lists, strict=True):
        for label in dict.fromkeys(text.split()):
            votes[label] += weight
    return " ".join(label for label, weight in votes.items() if weight > _HALF) or lists[0]


def _ranked(weights: Sequence[float], lists: Sequence[str]) -> str:
    """Return the labels by their mean place (Borda), as many as the longest list has; what a list lacks comes at its end."""
    ranked = [list(dict.fromkeys(text.split())) for text in lists]
    longest = max(map(len, ranked))
    points: dict[str, float] = defaultdict(float)
    for weight, labels in zip(weights, ranked, strict=True):
        for place, label in enumerate(labels):
            points[label] += weight * (longest - place)
    return " ".join(sorted(points, key=lambda label: -round(points[label], 9))[:longest])


def _pixels_of_most(weights: Sequence[float], masks: Sequence[str]) -> str:
    """Return the pixels that more than half of the weight has, as run lengths; an unreadable mask is an empty one."""
    steps: list[tuple[int, float]] = []
    for weight, text in zip(weights, masks, strict=True):
        if (mask := read_mask(text)) is not None:
            steps += [(int(begin), weight) for begin in mask.begins]
            steps += [(int(end), -weight) for end in mask.ends]
    found: list[tuple[int, int]] = []
    height, begun = 0.0, None
    for place, step in sorted(steps):
        height += step
        if height > _HALF and begun is None:
            begun = place
        elif height <= _HALF and begun is not None:
            found.append((begun, place - begun))
            begun = None
    if not any(length for _, length in found):
        return next((text for text in masks if text.strip() in ("", "-")), "")
    return " ".join(f"{begin} {length}" for begin, length in found if length)


VOTES: Mapping[Space, Vote] = {
    "vote": _most_votes,
    "share": _cell_by_cell(_labels_of_most),
    "fusion": _cell_by_cell(_ranked),
    "pixels": _cell_by_cell(_pixels_of_most),
}
