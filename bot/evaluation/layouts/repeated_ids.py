"""Tables with several rows of one id: equal ones, one row for each class of an id, or parts of one label."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from bot.evaluation.layouts.layout import Layout, PredictionRow, RowMapping, check_numbers
from bot.evaluation.metrics.registry import prediction_kind
from bot.evaluation.tables.csv_table import Rows, Table
from scrapers.snapshots.card import TaskCard
from state.errors import UnsupportedLayout


@dataclass(frozen=True)
class JoinedRowMapping(RowMapping):
    """A label that is spread over the rows of its id (run lengths, words): one row of predictions for all of them."""

    texts: Mapping[int, str]
    """The whole label, by the first row of each id."""

    def prediction_rows(self, layout: Layout, row: int) -> Iterator[PredictionRow]:
        """Yield the rows of predictions for one training row: none except for the first of its id."""
        if row in self.texts:
            yield PredictionRow(layout.ids[row], (self.texts[row],), {})

    def has_prediction_rows(self, row: int) -> bool:
        """Return whether it is the first of its id."""
        return row in self.texts


@dataclass(frozen=True)
class KeyedRowMapping(RowMapping):
    """A row for each item of an id, such as a class; a key column of the sample names it, and is not predicted."""

    key_cells: tuple[tuple[str, ...], ...]
    """The cells of the key columns, by training row."""

    def prediction_rows(self, layout: Layout, row: int) -> Iterator[PredictionRow]:
        """Yield what is asked for one training row."""
        cells = dict(zip(layout.card.key_columns, self.key_cells[row], strict=True))
        yield PredictionRow(layout.ids[row], layout.truth(row), cells)


def several_rows(layout: Layout) -> Layout:
    """Take rows of one id together: equal ones as they are, parts of one text joined; as it was where neither is so."""
    ids, labels = layout.ids, layout.labels
    of_id: dict[str, list[int]] = defaultdict(list)
    for row, identifier in enumerate(ids):
        of_id[identifier].append(row)
    sample_ids = layout.sample.column(layout.card.id_column)
    have_one_label = all(len({labels[row] for row in rows}) == 1 for rows in of_id.values())
    if len(set(sample_ids)) < len(sample_ids) or have_one_label:
        return replace(layout, groups=ids)
    if prediction_kind(layout.card) != "text" or len(layout.label_columns) > 1:
        return layout
    texts = {rows[0]: " ".join(filter(None, (labels[row][0] for row in rows))) for rows in of_id.values()}
    note = f"rows with the same {layout.id_column} make up one label"
    return replace(layout, classes=None, groups=ids, form=JoinedRowMapping(texts), notes=(note,))


def keyed_rows(
    train: Rows,
    test: Rows | None,
    ids: tuple[str, ...],
    id_column: str,
    unshared: Sequence[str],
    sample: Table,
    card: TaskCard,
) -> Layout:
    """Read a table with a row for each thing of an id, which the sample's further columns name.

    Raises UnsupportedLayout: these columns, or the labels, are not there.
    """
    prediction_columns, key_columns = card.prediction_columns, card.key_columns
    if absent := [c for c in key_columns if train.header.count(c) != 1]:
        column = f"exactly one column named {absent[0]!r}"
        raise UnsupportedLayout(f"{train.path.name} must have {column}, as the sample submission does.")
    label_columns = tuple(c for c in prediction_columns if train.header.count(c) == 1)
    if len(label_columns) < len(prediction_columns):
        candidates = [c for c in unshared if c not in key_columns]
        if len(prediction_columns) != 1 or len(candidates) != 1:
            name = train.path.name
            raise UnsupportedLayout(f"No column in {name} can be identified as the labels for {prediction_columns[0]}.")
        label_columns = (candidates[0],)
    withheld = tuple(c for c in train.header if (c in unshared or c in label_columns) and c not in key_columns)
    labels, form = tuple(train.columns(label_columns)), KeyedRowMapping(tuple(train.columns(key_columns)))
    layout = Layout(card, train, test, sample, id_column, ids, withheld, label_columns, labels, None, ids, form)
    check_numbers(layout)
    return layout
