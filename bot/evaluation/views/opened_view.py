"""A built view, opened to read its rows: its tables as text, and the row that each row of predictions belongs to.

Validation rows are those of the hold-out part alone; what is scored apart is looked at by nobody before a run's end.
"""

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path

import pandas as pd

from bot.evaluation.layouts.layout import Layout
from bot.evaluation.layouts.locate_tables import joined_ids, read_any
from bot.evaluation.layouts.reader import read_view_layout
from bot.evaluation.tables.csv_table import Rows, read_table
from bot.evaluation.view_names import VALIDATION
from bot.evaluation.views.parts import final_places
from scrapers.snapshots.card import TaskCard
from scrapers.snapshots.tables import row_key
from state.errors import UnsupportedLayout

MOST_CELLS = 10_000_000
"""Cells of one table that are read; of a larger one the first rows must do."""


class OpenedView:
    """Reads a view's tables on first use, each once."""

    def __init__(self, folder: Path, labels: Path, card: TaskCard) -> None:
        self.folder = folder
        self.labels = labels
        self.card = card

    @cached_property
    def layout(self) -> Layout:
        """Its tables as the view builder understands them. Raises UnsupportedLayout."""
        return read_view_layout(self.folder, self.card)

    @cached_property
    def features(self) -> list[str]:
        """Columns, those that make up the id not among them, that training, validation and test rows all have."""
        shared = [name for name in self.validation_table.header if name in self.layout.train.header]
        test = self.layout.test
        columns = shared if test is None else [name for name in shared if name in test.header]
        without = {self.card.id_column, *self.layout.id_parts, *self.layout.withheld_columns}
        return [name for name in columns if name not in without]

    @cached_property
    def train(self) -> pd.DataFrame:
        """Features of the training rows, as text."""
        return self._read(self.layout.train)

    @cached_property
    def validation(self) -> pd.DataFrame:
        """Features of the validation rows, as text, those left out for which nothing is asked."""
        table = self._read(self.validation_table)
        if all(self._places_by_row):
            return table
        return table.iloc[[row for row, places in enumerate(self._places_by_row) if places]].reset_index(drop=True)

    @cached_property
    def test(self) -> pd.DataFrame:
        """Features of the test rows, as text; without rows where there is no table of them."""
        return self.train.iloc[:0] if self.layout.test is None else self._read(self.layout.test)

    @cached_property
    def ids(self) -> list[str]:
        """Ids of these validation rows, written as those of the training rows are."""
        return [id for id, places in zip(self._validation_ids, self._places_by_row, strict=True) if places]

    @cached_property
    def prediction_places(self) -> list[Sequence[int]]:
        """For each of these validation rows, the places of its rows of predictions in `asked_ids`."""
        return [places for places in self._places_by_row if places]

    @cached_property
    def asked_ids(self) -> list[str]:
        """Keys of the rows of predictions, as `row_key` writes them, in the order of sample_validation.csv."""
        return [self._keys[place] for place in self.places]

    @cached_property
    def places(self) -> Sequence[int]:
        """Where the rows of `asked_ids` stand in sample_validation.csv."""
        final_rows = final_places(self.labels)
        return [place for place in range(len(self._keys)) if place not in final_rows]

    @cached_property
    def train_ids(self) -> list[str]:
        """Ids of the training rows that were read."""
        return list(self.layout.ids[: len(self.train)])

    @cached_property
    def test_ids(self) -> list[str]:
        """Ids of the test rows, written as those of the training rows are."""
        ids, form = self.layout.sample.column(self.card.id_column), self.layout.form
        return list(dict.fromkeys(map(form.unit, ids))) if form.has_many_rows else ids

    @cached_property
    def validation_table(self) -> Rows:
        """The validation rows as the view holds them, in whatever format. Raises UnsupportedLayout."""
        path = next((self.folder / name for name in VALIDATION if (self.folder / name).is_file()), None)
        if path is None:
            raise UnsupportedLayout("The view contains no validation rows.")
        return read_any(path)

    @cached_property
    def _keys(self) -> list[str]:
        return read_table(self.folder / "sample_validation.csv").keys(self.card.row_columns)

    @cached_property
    def _validation_ids(self) -> tuple[str, ...]:
        return joined_ids(self.validation_table, self.layout.id_parts)[: self._max_rows]

    @cached_property
    def _places_by_row(self) -> list[Sequence[int]]:
        """For each row of the validation table that is read, where its rows of predictions stand; equal ids take turns."""
        form, table = self.layout.form, self.validation_table
        places_by_key: dict[str, list[int]] = defaultdict(list)
        if form.has_many_rows:
            for place, identifier in enumerate(self._keys):
                places_by_key[form.unit(identifier)].append(place)
            places_by_row: list[Sequence[int]] = [places_by_key.pop(id, ()) for id in self._validation_ids]
        else:
            for place in reversed(range(len(self._keys))):
                places_by_key[self._keys[place]].append(place)
            key_cells = table.columns(self.card.key_columns)
            keys = (row_key((id, *cells)) for id, cells in zip(self._validation_ids, key_cells, strict=False))
            places_by_row = [[places_by_key[key].pop()] if places_by_key[key] else () for key in keys]
        if not any(places_by_row) or not (all(places_by_row) or form.has_many_rows):
            raise UnsupportedLayout(f"The rows in {table.path.name} do not match those in sample_validation.csv.")
        number_of_place = {place: number for number, place in enumerate(self.places)}
        return [[number_of_place[place] for place in places if place in number_of_place] for places in places_by_row]

    @property
    def _max_rows(self) -> int:
        return max(1_000, MOST_CELLS // max(1, len(self.features)))

    def _read(self, table: Rows) -> pd.DataFrame:
        places = [table.header.index(name) for name in self.features]
        cells = [[row[place] for place in places] for row in islice(table.rows(), self._max_rows)]
        return pd.DataFrame(cells, columns=self.features, index=range(len(cells)), dtype=object)
