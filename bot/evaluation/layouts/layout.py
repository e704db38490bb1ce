"""Layouts: a competition's training rows, the columns that test rows lack, and the labels."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from bot.evaluation.metrics.registry import CLASSIFICATION_METRICS, prediction_kind
from bot.evaluation.tables.csv_table import Rows, Table
from scrapers.snapshots.card import TaskCard
from scrapers.snapshots.tables import finite_number
from state.errors import UnsupportedLayout

TRUTH_VALUES = {"true": "1", "false": "0"}
NO_LABEL = frozenset({"", "nan"})
_NO_NUMBER = NO_LABEL | {"na", "null", "none"}


@dataclass(frozen=True)
class PredictionRow:
    """One expected row of predictions: its id, the truth, and further key cells."""

    id: str
    truth: tuple[str, ...]
    key_cells: Mapping[str, str]
    """Cells of columns that the sample has but that are not predicted, such as the class of a mask."""


@dataclass(frozen=True)
class RowMapping:
    """The mapping from training rows to rows of predictions: this one maps one to one."""

    has_many_rows: ClassVar[bool] = False
    """Whether a training row may become several rows of predictions."""

    def prediction_rows(self, layout: "Layout", row: int) -> Iterator[PredictionRow]:
        """Yield the rows of predictions for one training row."""
        yield PredictionRow(layout.ids[row], layout.truth(row), {})

    def has_prediction_rows(self, row: int) -> bool:
        """Return whether a training row has rows of predictions; of several rows with one label only the first has."""
        return True

    def unit(self, identifier: str) -> str:
        """Return the id of the training row that a row of predictions would be of."""
        return identifier


ONE_BY_ONE = RowMapping()


@dataclass(frozen=True)
class Layout:
    """A competition's rows as the view builder understands them."""

    card: TaskCard
    train: Rows
    test: Rows | None
    sample: Table
    id_column: str
    """Id column of the training rows; the sample may use another name."""
    ids: tuple[str, ...]
    """Ids of the training rows, in order."""
    withheld_columns: tuple[str, ...]
    """Every training column that test rows lack."""
    label_columns: tuple[str, ...]
    """The training columns that hold the labels."""
    labels: tuple[tuple[str, ...], ...]
    """Their cells, row by row."""
    classes: Mapping[str, int] | None
    """For one label column that becomes several prediction columns: the one that each class sets to 1."""
    groups: tuple[str, ...] | None = None
    """Rows of one value here stay on one side, whatever the split; None: each row may go by itself."""
    form: RowMapping = ONE_BY_ONE
    notes: tuple[str, ...] = ()
    """What had to be found out, in sentences."""
    joined: tuple[str, ...] = ()
    """The training columns whose cells, joined by `_`, are the ids; nothing where `id_column` holds them."""

    @property
    def id_parts(self) -> tuple[str, ...]:
        """The training columns that make up the ids."""
        return self.joined or (self.id_column,)

    @property
    def is_classification(self) -> bool:
        """Whether the targets are classes."""
        return self.classes is not None or self.card.metric.name in CLASSIFICATION_METRICS

    @property
    def is_quantity(self) -> bool:
        """Whether the labels are numbers that rows can be ordered by."""
        return self.form is ONE_BY_ONE and not self.is_classification and prediction_kind(self.card) == "number"

    def has_label(self, row: int) -> bool:
        """Whether every label cell of a training row is filled, so that the row can be scored."""
        if self.classes is not None:
            return self.labels[row][0] in self.classes
        kind = prediction_kind(self.card)
        if kind == "text":
            return True
        missing = NO_LABEL if kind == "label" else _NO_NUMBER
        return all(cell.strip().lower() not in missing for cell in self.labels[row])

    def truth(self, row: int) -> tuple[str, ...]:
        """Return a training row's labels in the form the metric wants, one cell a prediction column."""
        cells = self.labels[row]
        if self.classes is not None:
            hot = self.classes[cells[0]]
            return tuple("1" if place == hot else "0" for place in range(len(self.card.prediction_columns)))
        if prediction_kind(self.card) != "number":
            return cells
        return tuple(TRUTH_VALUES.get(cell.strip().lower(), cell) for cell in cells)

    def test_units(self) -> frozenset[str]:
        """Return the ids of the test rows, as a training row would have one."""
        return frozenset(map(self.form.unit, self.sample.column(self.card.id_column)))

    def prediction_rows(self, row: int) -> Iterator[PredictionRow]:
        """Yield the rows of predictions that are asked for a training row."""
        return self.form.prediction_rows(self, row)


def find_labels(
    train: Rows, unshared: Sequence[str], card: TaskCard
) -> tuple[tuple[str, ...], Mapping[str, int] | None]:
    """Find the label columns: named as the predictions are, or one of classes named by them, or the only candidate.

    Raises UnsupportedLayout: there are none.
    """
    prediction_columns = card.prediction_columns
    if all(train.header.count(column) == 1 for column in prediction_columns):
        return prediction_columns, None
    if len(prediction_columns) > 1:
        for column in unshared:
            classes = match_classes(set(train.column(column)), prediction_columns)
            if classes is not None:
                return (column,), classes
    elif len(unshared) == 1:
        return (unshared[0],), None
    raise UnsupportedLayout(
        f"No column in {train.path.name} can be identified as the labels for {', '.join(prediction_columns[:3])}; "
        f"columns missing from the test rows: {', '.join(unshared[:5]) or 'none'}."
    )


def match_classes(values: set[str], prediction_columns: Sequence[str]) -> Mapping[str, int] | None:
    """Match a column's values to prediction columns: equal, or with one prefix before all (`Status_C`)."""
    values = {value for value in values if value.strip().lower() not in NO_LABEL}
    if len(values) < 2:
        return None
    places = {column: place for place, column in enumerate(prediction_columns)}
    sample_value = max(values)
    for column in prediction_columns:
        prefix = column.removesuffix(sample_value)
        if column.endswith(sample_value) and all(prefix + value in places for value in values):
            return {value: places[prefix + value] for value in values}
    return None


def check_rows(layout: Layout) -> None:
    """Check that every row is identified by its id, and that labels are numbers where they must be.

    Raises UnsupportedLayout: it is not so.
    """
    name = layout.train.path.name
    if layout.groups != layout.ids and len(set(layout.ids)) != len(layout.ids):
        twice = Counter(layout.ids).most_common(1)[0][0]
        raise UnsupportedLayout(f"{name} contains the id {twice!r} more than once.")
    if layout.form is ONE_BY_ONE:
        check_numbers(layout)


def check_numbers(layout: Layout) -> None:
    """Check that labels are numbers where the metric takes numbers. Raises UnsupportedLayout: one is not."""
    if layout.classes is not None or prediction_kind(layout.card) != "number":
        return
    for row in filter(layout.has_label, range(len(layout.ids))):
        for column, cell in zip(layout.label_columns, layout.truth(row), strict=True):
            if finite_number(cell) is None:
                raise UnsupportedLayout(
                    f"{layout.train.path.name}, row {row + 1}: the label {column!r} is {cell[:40]!r}, "
                    f"but {layout.card.metric.name} requires numbers."
                )
