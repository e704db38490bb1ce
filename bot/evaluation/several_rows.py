"""Tables with several rows of one id: equal ones, one row for each class of an id, or parts of one label."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bot.evaluation.directions import prediction_kind
from bot.evaluation.labelled import Asked, Layout, check_rows, find_labels
from bot.evaluation.tables import Rows, Table
from scrapers.card import TaskCard
from state.errors import UnsupportedLayout


@dataclass(frozen=True)
class Joined:
    """A label that is spread over the rows of its id (run lengths, words): one row of predictions for all of them."""

    texts: Mapping[int, str]
    """The whole label, by the first row of each id."""

    def asked(self, layout: Layout, row: int) -> Iterator[Asked]:
        """Yield what is asked for one training row: nothing but for the first of its id."""
        if row in self.texts:
            yield Asked(layout.ids[row], (self.texts[row],), {})

    def asks(self, row: int) -> bool:
        """Return whether anything is."""
        return row in self.texts

    def unit(self, identifier: str) -> str:
        """Return the id of the row that a row of predictions is of."""
        return identifier


@dataclass(frozen=True)
class Paired:
    """A row for each thing of an id, such as a class; the sample says which, and that is no prediction."""

    given: tuple[tuple[str, ...], ...]
    """The cells that say which, by training row."""
    columns: tuple[str, ...]
    """The sample's columns that hold them."""

    def asked(self, layout: Layout, row: int) -> Iterator[Asked]:
        """Yield what is asked for one training row."""
        given = dict(zip(self.columns, self.given[row], strict=True))
        labels = iter(layout.labels[row])
        truth = tuple(given[c] if c in given else next(labels) for c in layout.card.prediction_columns)
        yield Asked(layout.ids[row], truth, given)

    def asks(self, row: int) -> bool:
        """Return whether anything is."""
        return True

    def unit(self, identifier: str) -> str:
        """Return the id of the row that a row of predictions is of."""
        return identifier


def several_rows(
    train: Rows, test: Rows | None, ids: tuple[str, ...], id_column: str, sample: Table, card: TaskCard
) -> Layout | None:
    """Read a table in which ids repeat themselves; None where none does, or nothing can be made of it.

    Raises:
        UnsupportedLayout: there are no labels.
    """
    if len(set(ids)) == len(ids):
        return None
    known = {id_column} if test is None else {id_column, *test.header}
    lacking = [column for column in train.header if column not in known]
    columns = _given(train, sample, card)
    if columns:
        return _paired(train, test, ids, id_column, lacking, columns, sample, card)
    label_columns, classes = find_labels(train, lacking, card)
    labels = tuple(train.columns(label_columns))
    withheld = tuple(c for c in train.header if c in lacking or c in label_columns)
    layout = Layout(card, train, test, sample, id_column, ids, withheld, label_columns, labels, classes, together=ids)
    of_id: dict[str, list[int]] = defaultdict(list)
    for row, identifier in enumerate(ids):
        of_id[identifier].append(row)
    if all(len({labels[row] for row in rows}) == 1 for rows in of_id.values()):
        check_rows(layout)
        return layout
    sample_ids = sample.column(card.id_column)
    if len(set(sample_ids)) < len(sample_ids) or prediction_kind(card) != "text" or len(label_columns) > 1:
        return None
    texts = {rows[0]: " ".join(filter(None, (labels[row][0] for row in rows))) for rows in of_id.values()}
    note = f"the rows of one {id_column} make up one label"
    return Layout(
        card, train, test, sample, id_column, ids, withheld, label_columns, labels, None, ids, Joined(texts), (note,)
    )


def _given(train: Rows, sample: Table, card: TaskCard) -> tuple[str, ...]:
    """The sample's columns that say which row of an id is meant: every id has the same cells in them, each once."""
    candidates = [c for c in card.prediction_columns if train.header.count(c) == 1]
    for column in candidates if len(card.prediction_columns) > 1 else ():
        of_id: dict[str, list[str]] = defaultdict(list)
        for identifier, cell in sample.columns((card.id_column, column)):
            of_id[identifier].append(cell)
        kinds = {tuple(sorted(cells)) for cells in of_id.values()}
        cells = next(iter(kinds), ())
        if len(kinds) == 1 and 1 < len(set(cells)) == len(cells) and set(train.column(column)) <= set(cells):
            return (column,)
    return ()


def _paired(
    train: Rows,
    test: Rows | None,
    ids: tuple[str, ...],
    id_column: str,
    lacking: Sequence[str],
    given: tuple[str, ...],
    sample: Table,
    card: TaskCard,
) -> Layout:
    predicted = [c for c in card.prediction_columns if c not in given]
    label_columns = tuple(c for c in predicted if train.header.count(c) == 1)
    if len(label_columns) < len(predicted):
        left = [c for c in lacking if c not in given]
        if len(predicted) != 1 or len(left) != 1:
            raise UnsupportedLayout(f"No column of {train.path.name} can be told to hold the labels of {predicted[0]}.")
        label_columns = (left[0],)
    return Layout(
        card,
        train,
        test,
        sample,
        id_column,
        ids,
        withheld_columns=tuple(c for c in train.header if (c in lacking or c in label_columns) and c not in given),
        label_columns=label_columns,
        labels=tuple(train.columns(label_columns)),
        classes=None,
        together=ids,
        form=Paired(tuple(train.columns(given)), given),
    )
