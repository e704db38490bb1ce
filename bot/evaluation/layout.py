"""What a competition's data folder holds: its tables, what test rows lack, and where the labels are."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.evaluation.directions import CLASSIFICATION_METRICS, prediction_kind
from bot.evaluation.tables import Table, read_table
from scrapers.card import TaskCard
from state.errors import UnsupportedLayout

_TRUTH_VALUES = {"true": "1", "false": "0"}
_NO_LABEL = frozenset({"", "nan"})
_NO_NUMBER = _NO_LABEL | {"na", "null", "none"}


@dataclass(frozen=True)
class Layout:
    """A competition's tables as the view builder understands them."""

    card: TaskCard
    train: Table
    test: Table | None
    sample: Table
    ids: tuple[str, ...]
    """Ids of the training rows, in order, all different."""
    withheld_columns: tuple[str, ...]
    """Every training column that test rows lack."""
    label_columns: tuple[str, ...]
    """The training columns that hold the labels."""
    labels: tuple[tuple[str, ...], ...]
    """Their cells, row by row."""
    classes: Mapping[str, int] | None
    """For one label column that becomes several prediction columns: which one each class sets to 1."""

    @property
    def is_classification(self) -> bool:
        """Whether the targets are classes."""
        return self.classes is not None or self.card.metric.name in CLASSIFICATION_METRICS

    def has_label(self, row: int) -> bool:
        """Whether every label cell of a training row is filled, so that the row can be scored."""
        if self.classes is not None:
            return self.labels[row][0] in self.classes
        kind = prediction_kind(self.card)
        if kind == "text":
            return True
        missing = _NO_LABEL if kind == "label" else _NO_NUMBER
        return all(cell.strip().lower() not in missing for cell in self.labels[row])

    def truth(self, row: int) -> tuple[str, ...]:
        """Return a training row's labels in the form the metric wants, one cell a prediction column."""
        cells = self.labels[row]
        if self.classes is not None:
            hot = self.classes[cells[0]]
            return tuple("1" if at == hot else "0" for at in range(len(self.card.prediction_columns)))
        if prediction_kind(self.card) != "number":
            return cells
        return tuple(_TRUTH_VALUES.get(cell.strip().lower(), cell) for cell in cells)


def read_layout(data_dir: Path, card: TaskCard) -> Layout:
    """Read train.csv, test.csv (if there is one) and sample_submission.csv.

    Raises:
        UnsupportedLayout: the data is not laid out in a way that labels can be withheld from; the text says why.
    """
    train = _table(data_dir, "train.csv")
    sample = _table(data_dir, "sample_submission.csv")
    test = read_table(data_dir / "test.csv") if (data_dir / "test.csv").is_file() else None
    for table, columns in ((train, (card.id_column,)), (sample, (card.id_column, *card.prediction_columns))):
        for column in columns:
            if table.header.count(column) != 1:
                raise UnsupportedLayout(f"{table.path.name} must have one column {column!r}.")
    known = {card.id_column} if test is None else {card.id_column, *test.header}
    lacking = [column for column in train.header if column not in known]
    label_columns, classes = _labels(train, lacking, card)
    withheld = tuple(column for column in train.header if column in lacking or column in label_columns)
    cells = train.columns((card.id_column, *label_columns))
    layout = Layout(
        card,
        train,
        test,
        sample,
        ids=tuple(row[0] for row in cells),
        withheld_columns=withheld,
        label_columns=label_columns,
        labels=tuple(row[1:] for row in cells),
        classes=classes,
    )
    _check_rows(layout)
    return layout


def _table(data_dir: Path, name: str) -> Table:
    if not (data_dir / name).is_file():
        raise UnsupportedLayout(f"There is no {name}.")
    return read_table(data_dir / name)


def _labels(train: Table, lacking: Sequence[str], card: TaskCard) -> tuple[tuple[str, ...], Mapping[str, int] | None]:
    """Find the label columns: named as the predictions are, or one of classes named by them, or the only candidate."""
    predicted = card.prediction_columns
    if all(train.header.count(column) == 1 for column in predicted):
        return predicted, None
    if len(predicted) > 1:
        for column in lacking:
            classes = _classes(set(train.column(column)), predicted)
            if classes is not None:
                return (column,), classes
    elif len(lacking) == 1:
        return (lacking[0],), None
    raise UnsupportedLayout(
        f"No column of train.csv can be told to hold the labels of {', '.join(predicted[:3])}; "
        f"the test rows lack {', '.join(lacking[:5]) or 'none'}."
    )


def _classes(values: set[str], predicted: Sequence[str]) -> Mapping[str, int] | None:
    """Match a column's values to prediction columns: equal, or with one prefix before all (`Status_C`)."""
    values = {value for value in values if value.strip().lower() not in _NO_LABEL}
    if len(values) < 2:
        return None
    at = {column: place for place, column in enumerate(predicted)}
    sample_value = max(values)
    for column in predicted:
        if column.endswith(sample_value):
            prefix = column[: len(column) - len(sample_value)]
            if all(prefix + value in at for value in values):
                return {value: at[prefix + value] for value in values}
    return None


def _check_rows(layout: Layout) -> None:
    if len(set(layout.ids)) != len(layout.ids):
        twice = Counter(layout.ids).most_common(1)[0][0]
        raise UnsupportedLayout(f"train.csv has the id {twice!r} more than once.")
    if layout.classes is not None or prediction_kind(layout.card) != "number":
        return
    for row in range(len(layout.ids)):
        if layout.has_label(row):
            for column, cell in zip(layout.label_columns, layout.truth(row), strict=True):
                if not _is_number(cell):
                    raise UnsupportedLayout(
                        f"train.csv, row {row + 1}: the label {column!r} is {cell[:40]!r}, "
                        f"but {layout.card.metric.name} takes numbers."
                    )


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
