"""The target to predict for each row: its label, or a summary of the many predictions expected for it."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from bot.evaluation.layouts.composite_ids import ColumnRowMapping, Places
from bot.evaluation.layouts.label_images import Pixels
from bot.evaluation.layouts.layout import Layout
from bot.evaluation.metrics.arrays import Values
from bot.evaluation.metrics.ranking import mean_ranks
from bot.evaluation.metrics.registry import prediction_kind
from bot.evaluation.scoring.prediction_file import read_truth
from bot.evaluation.views.opened_view import OpenedView
from scrapers.snapshots.tables import read_number

_DIGITS = 9
"""Digits of a mean, so that two computed in different ways are equal."""

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


class GuardedView(OpenedView):
    """A view for guards."""

    @cached_property
    def targets(self) -> list[Target]:
        """The targets to predict: classes as a whole, each quantity by itself.

        If each row has several rows of predictions, one for each column, each column is a target. If they are places in lists,
        or pixels, the target is their mean, or for labels the commonest one.
        """
        truth, layout = read_truth(self.labels / "labels.csv", self.asked_ids, self.card), self.layout
        names, form = layout.card.prediction_columns, layout.form
        train = [_of_training(layout, row) for row in range(len(self.train))]
        if layout.classes is not None:
            hot = [None if row is None else "\x1f".join(row) for row in train]
            answers_hot = [
                "\x1f".join("1" if cell == 1 else "0" for cell in truth[p[0]]) for p in self.prediction_places
            ]
            return [_classes(layout.label_columns[0], hot, answers_hot)]
        if isinstance(form, ColumnRowMapping):
            names = layout.label_columns
            answers = [
                _by_column(form, names, ((self.asked_ids[place], truth[place][0]) for place in places))
                for places in self.prediction_places
            ]
        elif isinstance(form, Places | Pixels):
            answers = [_joined_cells(truth[list(places)]) for places in self.prediction_places]
        else:
            answers = [tuple(truth[places[0]]) for places in self.prediction_places]
        joined = isinstance(form, Places | Pixels)
        target = (
            _quantity
            if prediction_kind(layout.card) == "number" and (joined or not layout.is_classification)
            else _classes
        )
        columns = [[None if row is None else row[place] for row in train] for place in range(len(names))]
        return [target(name, columns[place], [row[place] for row in answers]) for place, name in enumerate(names)]


def _of_training(layout: Layout, row: int) -> Cells | None:
    """Return a training row's targets, None where it has none."""
    if not layout.has_label(row) or not layout.form.has_prediction_rows(row):
        return None
    if isinstance(layout.form, Pixels):
        return (round(layout.form.brightness(layout, row), _DIGITS),)
    if isinstance(layout.form, ColumnRowMapping):
        return layout.truth(row)
    labels = [prediction_row.truth for prediction_row in layout.prediction_rows(row)]
    if not labels:
        return None
    if not isinstance(layout.form, Places):
        return labels[0]
    numbers = prediction_kind(layout.card) == "number"
    return _joined_cells(np.array([[_number(cell) for cell in cells] if numbers else cells for cells in labels]))


def _joined_cells(values: Values) -> Cells:
    """Return the summary of several rows of predictions, column by column."""
    if np.issubdtype(values.dtype, np.number):
        return tuple(round(float(mean), _DIGITS) for mean in values.mean(axis=0))
    return tuple(Counter(map(_spelled, column)).most_common(1)[0][0] for column in values.T)


def _by_column(form: ColumnRowMapping, names: Sequence[str], labels_by_id: Iterable[tuple[str, Any]]) -> Cells:
    """Return the labels of one validation row in the order of the columns; each has a row of predictions, by its id."""
    cells = {id[len(form.unit(id)) + 1 :]: label for id, label in labels_by_id}
    return tuple(cells.get(name, np.nan) for name in names)


def _spelled(cell: Any) -> str:
    """Return the common spelling of a class: `1`, `1.0` and `true` are the same."""
    text = str(cell).strip()
    value = read_number(text)
    return {"true": "1", "false": "0"}.get(text.lower(), text) if value is None else f"{value:g}"


def _number(cell: Any) -> float:
    value = read_number(cell) if isinstance(cell, str) else float(cell)
    return math.nan if value is None else value


def _classes(name: str, train: Sequence[Any], validation: Sequence[Any]) -> Target:
    codes: dict[str, int] = {}
    train_codes = [-1 if cell is None else codes.setdefault(_spelled(cell), len(codes)) for cell in train]
    validation_codes = [codes.setdefault(_spelled(cell), len(codes)) for cell in validation]
    return Target(name, "classes", np.array(train_codes, dtype=int), np.array(validation_codes, dtype=int))


def _quantity(name: str, train: Sequence[Any], validation: Sequence[Any]) -> Target:
    values = np.array([np.nan if cell is None else _number(cell) for cell in train])
    answers = np.array([_number(cell) for cell in validation])
    is_finite = np.isfinite(values)
    ranks = np.full(len(values), np.nan)
    ranks[is_finite] = mean_ranks(values[is_finite]) / max(1, is_finite.sum())
    ascending = np.sort(values[is_finite])
    places = (np.searchsorted(ascending, answers, "left") + np.searchsorted(ascending, answers, "right") + 1) / 2
    return Target(name, "quantity", ranks, places / max(1, len(ascending)))
