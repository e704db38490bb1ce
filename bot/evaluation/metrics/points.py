"""F1 of labelled points against labelled boxes, as Kuzushiji recognition has it."""

import math
from dataclasses import dataclass

import numpy as np

from bot.evaluation.metrics.arrays import Values, text_pairs
from bot.evaluation.metrics.params import Params
from scrapers.snapshots.tables import read_number

_BOX, _POINT = 5, 3
"""Words of a box (label, x, y, width, height) and of a point (label, x, y)."""


@dataclass(frozen=True)
class _Thing:
    label: str
    numbers: tuple[float, ...]


def points_in_boxes_f1(y_true: Values, y_pred: Values, params: Params) -> float:
    """F1 over all rows: a point is right if it lies within a box of its label that no earlier point was used for.

    The truth lists `label x y width height`, the prediction `label x y`, separated by blanks; each box takes the first point
    that is free. 0 where no point is right, NaN where there are neither boxes nor points, or a text is not of that form. In
    MLE-bench: kuzushiji-recognition (where a file without any point has 0).
    """
    right = boxes = points = 0
    for truth_text, predicted_text in text_pairs(y_true, y_pred):
        truth, predicted = _read(truth_text, _BOX), _read(predicted_text, _POINT)
        if truth is None or predicted is None:
            return math.nan
        right += _matched(truth, predicted)
        boxes += len(truth)
        points += len(predicted)
    return 2 * right / (boxes + points) if boxes + points else math.nan


def centres(y_true: Values) -> Values:
    """Return the predictions that are right: the centre of each box; a text that lists no boxes stays as it is."""
    return np.array([[_centres(text) for text in row] for row in y_true], dtype=object).reshape(y_true.shape)


def _centres(text: object) -> str:
    boxes = _read(str(text), _BOX)
    if boxes is None:
        return str(text)
    middles = ((one.label, one.numbers) for one in boxes)
    return " ".join(f"{label} {x + width / 2!r} {y + height / 2!r}" for label, (x, y, width, height) in middles)


def _read(text: str, words: int) -> list[_Thing] | None:
    parts = text.split()
    if len(parts) % words:
        return None
    found = []
    for at in range(0, len(parts), words):
        values = [read_number(part) for part in parts[at + 1 : at + words]]
        known = tuple(value for value in values if value is not None and math.isfinite(value))
        if len(known) < len(values):
            return None
        found.append(_Thing(parts[at], known))
    return found


def _matched(boxes: list[_Thing], points: list[_Thing]) -> int:
    free: dict[str, list[_Thing]] = {}
    for point in points:
        free.setdefault(point.label, []).append(point)
    matched = 0
    for box in boxes:
        candidates = free.get(box.label, [])
        inside = next((point for point in candidates if _within(point, box)), None)
        if inside is not None:
            candidates.remove(inside)
            matched += 1
    return matched


def _within(point: _Thing, box: _Thing) -> bool:
    left, top, width, height = box.numbers
    x, y = point.numbers
    return left < x < left + width and top < y < top + height
