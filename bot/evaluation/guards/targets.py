"""The target to predict for each row: its label, or a summary of the many predictions expected for it."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.layouts.composite_ids import Columns, Places
from bot.evaluation.layouts.label_images import Pixels
from bot.evaluation.layouts.layout import Layout
from bot.evaluation.metrics.ranks import mean_ranks
from bot.evaluation.metrics.registry import prediction_kind
from scrapers.snapshots.tables import read_number

_DIGITS = 9
"""Digits of a mean, so that two computed in different ways are equal."""

Values = NDArray[Any]
Cells = tuple[Any, ...]


@dataclass(frozen=True)
class Target:
    """One target of the training and of the validation rows.

    Classes are whole numbers that mean the same on both sides, -1 where a training row has none of those that are scored.
    Quantities are ranks among the training rows, between 0 and 1: predicting the order predicts the quantity.
    """

    name: str
    kind: Literal["classes", "quantity"]
    train: Values
    validation: Values


@dataclass(frozen=True)
class ExpectedRows:
    """The expected rows of predictions with their labels, and which of them belong to which validation row."""

    ids: Sequence[str]
    truth: Values
    """(rows of predictions, prediction columns)."""
    places: Sequence[Sequence[int]]
    """For each validation row, where its rows of predictions stand; at least one."""


def targets_of(layout: Layout, rows: range, asked: ExpectedRows) -> list[Target]:
    """Return the targets to predict: classes as a whole, each quantity by itself.

    If each row has several rows of predictions, one for each column, each column is a target. If they are places in lists,
    or pixels, the target is their mean, or for labels the commonest one.

    Args:
        layout: of the training rows.
        rows: those of them that count.
        asked: the expected rows for the validation rows.
    """
    names, train = layout.card.prediction_columns, [_of_training(layout, row) for row in rows]
    if layout.classes is not None:
        hot = [None if row is None else "\x1f".join(row) for row in train]
        firsts = [asked.truth[places[0]] for places in asked.places]
        return [_classes(layout.label_columns[0], hot, [_hot(row) for row in firsts])]
    if isinstance(layout.form, Columns):
        names = layout.label_columns
        answers = [_by_column(layout.form, names, asked, places) for places in asked.places]
    elif isinstance(layout.form, Places | Pixels):
        answers = [_together(asked.truth[list(places)]) for places in asked.places]
    else:
        answers = [tuple(asked.truth[places[0]]) for places in asked.places]
    quantities = prediction_kind(layout.card) == "number" and (
        isinstance(layout.form, Places | Pixels) or not layout.is_classification
    )
    found = []
    for place, name in enumerate(names):
        seen, wanted = [None if row is None else row[place] for row in train], [row[place] for row in answers]
        found.append(
            _quantity(name, seen, wanted) if quantities else _classes(name, *map(_all_spelled, (seen, wanted)))
        )
    return found


def _of_training(layout: Layout, row: int) -> Cells | None:
    """Return a training row's targets, None where it has none."""
    if not layout.has_label(row) or not layout.form.has_prediction_rows(row):
        return None
    if isinstance(layout.form, Pixels):
        return (round(layout.form.brightness(layout, row), _DIGITS),)
    if isinstance(layout.form, Columns):
        return layout.truth(row)
    labels = [asked.truth for asked in layout.prediction_rows(row)]
    if not labels:
        return None
    if not isinstance(layout.form, Places):
        return labels[0]
    numbers = prediction_kind(layout.card) == "number"
    return _together(np.array([[_number(cell) for cell in one] if numbers else one for one in labels]))


def _together(values: Values) -> Cells:
    """Return the summary of several rows of predictions, column by column."""
    if np.issubdtype(values.dtype, np.number):
        return tuple(round(float(mean), _DIGITS) for mean in values.mean(axis=0))
    return tuple(Counter(map(_spelled, column)).most_common(1)[0][0] for column in values.T)


def _by_column(form: Columns, names: Sequence[str], asked: ExpectedRows, places: Sequence[int]) -> Cells:
    """Return the labels of one validation row, which has a row of predictions for each column, in the order of the columns."""
    cells: Mapping[str, Any] = {_ending(form, asked.ids[place]): asked.truth[place][0] for place in places}
    return tuple(cells.get(name, np.nan) for name in names)


def _ending(form: Columns, identifier: str) -> str:
    return identifier[len(form.unit(identifier)) + 1 :]


def _hot(row: Values) -> str:
    return "\x1f".join("1" if cell == 1 else "0" for cell in row)


def _all_spelled(cells: Sequence[Any]) -> list[str | None]:
    return [None if cell is None else _spelled(cell) for cell in cells]


def _spelled(cell: Any) -> str:
    """Return the common spelling of a class: `1`, `1.0` and `true` are the same."""
    text = str(cell).strip()
    value = read_number(text)
    return {"true": "1", "false": "0"}.get(text.lower(), text) if value is None else f"{value:g}"


def _number(cell: Any) -> float:
    value = read_number(cell) if isinstance(cell, str) else float(cell)
    return math.nan if value is None else value


def _classes(name: str, train: Sequence[str | None], validation: Sequence[str | None]) -> Target:
    codes: dict[str, int] = {}
    seen = [-1 if cell is None else codes.setdefault(cell, len(codes)) for cell in train]
    asked = [codes.setdefault(str(cell), len(codes)) for cell in validation]
    return Target(name, "classes", np.array(seen, dtype=int), np.array(asked, dtype=int))


def _quantity(name: str, train: Sequence[Any], validation: Sequence[Any]) -> Target:
    values = np.array([np.nan if cell is None else _number(cell) for cell in train])
    answers = np.array([_number(cell) for cell in validation])
    known = np.isfinite(values)
    ranks = np.full(len(values), np.nan)
    ranks[known] = mean_ranks(values[known]) / max(1, known.sum())
    ordered = np.sort(values[known])
    places = (np.searchsorted(ordered, answers, "left") + np.searchsorted(ordered, answers, "right") + 1) / 2
    return Target(name, "quantity", ranks, places / max(1, len(ordered)))
