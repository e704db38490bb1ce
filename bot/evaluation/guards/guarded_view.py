"""A view as the guards look at it: its tables as text, and its targets in a form in which they can be foretold."""

from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bot.evaluation.directions import prediction_kind
from bot.evaluation.layout import Layout, read_layout
from bot.evaluation.ranks import mean_ranks
from bot.evaluation.submission_file import read_truth
from bot.evaluation.tables import Rows, read_table
from scrapers.card import TaskCard

__all__ = ["GuardedView", "Target"]

MOST_CELLS = 10_000_000
"""Cells of one table that are read; of a larger one the first rows must do."""
MOST_CLASSES = 1_000
"""A target with more different values than this, most of them rare, is no class."""

Values = NDArray[Any]


@dataclass(frozen=True)
class Target:
    """One target of the training and of the validation rows.

    Classes are whole numbers that mean the same on both sides, -1 where a training row has none of those that are scored.
    Quantities are ranks among the training rows, between 0 and 1: what foretells the order foretells the quantity.
    """

    name: str
    kind: Literal["classes", "quantity"]
    train: Values
    validation: Values


class GuardedView:
    """Reads a view's tables when they are first asked for, each once."""

    def __init__(self, folder: Path, labels: Path, card: TaskCard) -> None:
        self.folder = folder
        self.labels = labels
        self.card = card

    @cached_property
    def layout(self) -> Layout:
        """Its tables as the view builder understands them. Raises UnsupportedLayout."""
        return read_layout(self.folder, self.card)

    @cached_property
    def features(self) -> list[str]:
        """Columns, the id not among them, that training, validation and test rows all have."""
        shared = [name for name in self._validation.header if name in self.layout.train.header]
        test = self.layout.test
        kept = shared if test is None else [name for name in shared if name in test.header]
        return [name for name in kept if name != self.card.id_column and name not in self.layout.withheld_columns]

    @cached_property
    def train(self) -> pd.DataFrame:
        """Features of the training rows, as text."""
        return self._read(self.layout.train)

    @cached_property
    def validation(self) -> pd.DataFrame:
        """Features of the validation rows, as text, in the order of `ids`."""
        return self._read(self._validation)

    @cached_property
    def test(self) -> pd.DataFrame:
        """Features of the test rows, as text; without rows where there is no table of them."""
        return self.train.iloc[:0] if self.layout.test is None else self._read(self.layout.test)

    @cached_property
    def ids(self) -> list[str]:
        """What tells those validation rows apart that were read."""
        return self._validation.keys(self.card.row_columns)[: len(self.validation)]

    @cached_property
    def plain_ids(self) -> list[str]:
        """The id column of these rows alone."""
        return self._validation.column(self.card.id_column)[: len(self.validation)]

    @cached_property
    def train_ids(self) -> list[str]:
        """Ids of the training rows that were read."""
        return list(self.layout.ids[: len(self.train)])

    @cached_property
    def test_ids(self) -> list[str]:
        """Ids of the test rows."""
        return self.layout.sample.column(self.card.id_column)

    @cached_property
    def targets(self) -> list[Target]:
        """What is to be foretold: classes as a whole, each quantity by itself."""
        layout, rows = self.layout, range(len(self.train))
        truth = read_truth(self.labels / "labels.csv", self.ids, self.card)
        known = [layout.truth(row) if layout.has_label(row) else None for row in rows]
        if layout.classes is not None:
            hot = [None if row is None else "\x1f".join(row) for row in known]
            return [_classes(layout.label_columns[0], hot, [_hot(row) for row in truth])]
        found = []
        for place, name in enumerate(self.card.prediction_columns):
            cells, answers = [None if row is None else row[place] for row in known], truth[:, place]
            if layout.is_classification or prediction_kind(self.card) != "number":
                spelled = [None if cell is None else _spelled(cell) for cell in cells]
                found.append(_classes(name, spelled, [_spelled(answer) for answer in answers]))
            else:
                found.append(_quantity(name, cells, answers.astype(float)))
        return found

    @cached_property
    def _validation(self) -> Rows:
        return read_table(self.folder / "validation.csv")

    def _read(self, table: Rows) -> pd.DataFrame:
        most = max(1_000, MOST_CELLS // max(1, len(self.features)))
        places = [table.header.index(name) for name in self.features]
        cells = [[row[place] for place in places] for row in islice(table.rows(), most)]
        return pd.DataFrame(cells, columns=self.features, index=range(len(cells)), dtype=object)


def _hot(row: Values) -> str:
    return "\x1f".join("1" if cell == 1 else "0" for cell in row)


def _spelled(cell: Any) -> str:
    """Return one spelling for all of a class's: `1`, `1.0` and `true` are the same."""
    text = str(cell).strip()
    try:
        return f"{float(text):g}"
    except ValueError:
        return {"true": "1", "false": "0"}.get(text.lower(), text)


def _classes(name: str, train: list[str | None], validation: list[str]) -> Target:
    codes: dict[str, int] = {}
    seen = [-1 if cell is None else codes.setdefault(cell, len(codes)) for cell in train]
    asked = [codes.setdefault(cell, len(codes)) for cell in validation]
    return Target(name, "classes", np.array(seen, dtype=int), np.array(asked, dtype=int))


def _quantity(name: str, train: list[str | None], validation: NDArray[np.float64]) -> Target:
    values = np.array([np.nan if cell is None else float(cell) for cell in train])
    known = np.isfinite(values)
    ranks = np.full(len(values), np.nan)
    ranks[known] = mean_ranks(values[known]) / max(1, known.sum())
    ordered = np.sort(values[known])
    places = (np.searchsorted(ordered, validation, "left") + np.searchsorted(ordered, validation, "right") + 1) / 2
    return Target(name, "quantity", ranks, places / max(1, len(ordered)))
