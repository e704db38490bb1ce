"""Composite ids: a sample with a row for each cell (`<row>_<column>`, `<row>_<place>`) of wide training labels."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bot.evaluation.layouts.layout import Layout, PredictionRow, RowMapping
from bot.evaluation.tables.csv_table import Rows, Table
from bot.evaluation.tables.json_table import JsonTable
from scrapers.snapshots.card import TaskCard


@dataclass(frozen=True)
class ColumnRowMapping(RowMapping):
    """A row of predictions for each label column of a training row."""

    has_many_rows = True
    columns: tuple[str, ...]
    """The longest first."""

    def prediction_rows(self, layout: Layout, row: int) -> Iterator[PredictionRow]:
        """Yield the rows of predictions for one training row."""
        for column, cell in zip(layout.label_columns, layout.truth(row), strict=True):
            yield PredictionRow(f"{layout.ids[row]}_{column}", (cell,), {})

    def unit(self, identifier: str) -> str:
        """Return the id of the row that a row of predictions is of."""
        return next((identifier[: -len(c) - 1] for c in self.columns if identifier.endswith(f"_{c}")), identifier)


@dataclass(frozen=True)
class Places(RowMapping):
    """A row of predictions for each place of the lists that a training row holds as labels."""

    has_many_rows = True

    def prediction_rows(self, layout: Layout, row: int) -> Iterator[PredictionRow]:
        """Yield what is asked for one training row: as many places as the shortest list has."""
        lists = [json.loads(cell) for cell in layout.labels[row]]
        for place, values in enumerate(zip(*lists, strict=False)):
            truth = tuple(value if isinstance(value, str) else json.dumps(value) for value in values)
            yield PredictionRow(f"{layout.ids[row]}_{place}", truth, {})

    def unit(self, identifier: str) -> str:
        """Return the id of the row that a row of predictions is of."""
        return identifier.rpartition("_")[0]


def melted(train: Rows, test: Rows | None, sample: Table, card: TaskCard) -> Layout | None:
    """Read training rows whose labels the sample asks for cell by cell; None where it does not."""
    if card.id_column in train.header and all(column in train.header for column in card.prediction_columns):
        return None
    sample_ids = dict.fromkeys(sample.column(card.id_column))
    melting = _columns(train, sample_ids, card) or _places(train, sample_ids, card)
    if melting is None:
        return None
    label_columns, keys, form = melting
    key = _key_column(train, test, keys, label_columns)
    if key is None:
        return None
    row_columns = {key} if test is None else {key, *test.header}
    withheld = tuple(c for c in train.header if c not in row_columns or c in label_columns)
    ids, labels = tuple(train.column(key)), tuple(train.columns(label_columns))
    note = f"each {key} has several rows of predictions"
    return Layout(card, train, test, sample, key, ids, withheld, label_columns, labels, None, form=form, notes=(note,))


Melting = tuple[tuple[str, ...], set[str], ColumnRowMapping | Places]


def _columns(train: Rows, sample_ids: Sequence[str] | dict[str, None], card: TaskCard) -> Melting | None:
    """Ids that end in the names of training columns."""
    if len(card.prediction_columns) > 1:
        return None
    columns = sorted((c for c in dict.fromkeys(train.header) if c), key=len, reverse=True)
    label_columns: set[str] = set()
    keys: set[str] = set()
    for identifier in sample_ids:
        column = next((c for c in columns if identifier.endswith(f"_{c}")), None)
        if column is None:
            return None
        label_columns.add(column)
        keys.add(identifier[: -len(column) - 1])
    form = ColumnRowMapping(tuple(c for c in columns if c in label_columns))
    return (tuple(c for c in train.header if c in label_columns), keys, form) if len(label_columns) > 1 else None


def _places(train: Rows, sample_ids: Sequence[str] | dict[str, None], card: TaskCard) -> Melting | None:
    """Ids that end in places of lists that the records hold."""
    if not isinstance(train, JsonTable) or not all(c in train.header for c in card.prediction_columns):
        return None
    parts = [identifier.rpartition("_") for identifier in sample_ids]
    if not all(key and place.isdigit() for key, _, place in parts):
        return None
    first = train.heads(card.prediction_columns, 1)
    if not all(cells and cells[0].startswith("[") for cells in first.values()):
        return None
    return card.prediction_columns, {key for key, _, _ in parts}, Places()


def _key_column(train: Rows, test: Rows | None, keys: set[str], labels: Sequence[str]) -> str | None:
    """The training column of what the test's ids begin with: test rows have it too, or it alone never repeats itself."""
    candidates = [c for c in dict.fromkeys(train.header) if c not in labels and train.header.count(c) == 1]
    for column in candidates:
        if test is not None and column in test.header and keys <= set(test.column(column)):
            return column
    for column in candidates:
        cells = train.column(column)
        # Numbers seldom repeat themselves either, but no id is written with a point.
        if len(set(cells)) == len(cells) and not any("." in cell for cell in cells[:100] if cell[:1].isdigit()):
            return column
    return None
