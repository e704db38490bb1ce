"""Reads a competition's data folder as a layout: finds its training rows, its test rows, and the labels."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from bot.evaluation.layouts.class_files import files_by_class
from bot.evaluation.layouts.composite_ids import melted
from bot.evaluation.layouts.label_images import files_in_index, files_with_labels
from bot.evaluation.layouts.layout import Layout, check_rows, find_labels
from bot.evaluation.layouts.locate_tables import find_test, find_training_tables, joined_ids, read_any, row_ids
from bot.evaluation.layouts.repeated_ids import KeyedRowMapping, keyed_rows, several_rows
from bot.evaluation.tables.csv_table import Rows, Table, read_table
from scrapers.snapshots.card import TaskCard
from state.errors import UnsupportedLayout


def read_layout(data_dir: Path, card: TaskCard) -> Layout:
    """Read the training rows, the test rows (if there are such) and sample_submission.csv.

    Training rows are those of train.csv; without one, or where it holds no labels, of another table (`labels.csv`,
    `train_labels.csv`, `train.json`, compressed or not), or else files that lie in folders by their classes, are named by
    them, or have a file of labels each.

    Raises UnsupportedLayout: labels cannot be withheld from this layout of the data; the text gives the reason.
    """
    layout = _read(data_dir, card)
    if card.key_columns and not isinstance(layout.form, KeyedRowMapping):
        key = " and ".join(card.row_columns)
        raise UnsupportedLayout(f"Training rows have no column {key}, which identifies rows in the sample submission.")
    return layout


def read_view_layout(folder: Path, card: TaskCard) -> Layout:
    """Read the same of a view's data folder, whose training rows may be an index of files.

    Raises UnsupportedLayout: what the view holds cannot be understood by itself.
    """
    return files_in_index(folder, card, read_sample(folder, card)) or read_layout(folder, card)


def _read(data_dir: Path, card: TaskCard) -> Layout:
    sample = read_sample(data_dir, card)
    test = find_test(data_dir, card, sample)
    faults: list[str] = []
    for path in find_training_tables(data_dir, test):
        try:
            return _of_table(read_any(path), test, sample, card)
        except UnsupportedLayout as error:
            faults.append(str(error))
    for of_files in (files_by_class, files_with_labels):
        try:
            layout = of_files(data_dir, card, test, sample)
        except UnsupportedLayout as error:
            faults.append(str(error))
            continue
        if layout is not None:
            return layout
    raise UnsupportedLayout(faults[0] if faults else "There is no train.csv or other file with training labels.")


def read_sample(data_dir: Path, card: TaskCard) -> Table:
    """Open sample_submission.csv. Raises UnsupportedLayout: there is none with the task's columns, each once."""
    path = data_dir / "sample_submission.csv"
    if not path.is_file():
        raise UnsupportedLayout("There is no sample_submission.csv.")
    sample = read_table(path)
    for column in card.columns:
        if sample.header.count(column) != 1:
            raise UnsupportedLayout(f"{path.name} must have exactly one column named {column!r}.")
    return sample


def _of_table(train: Rows, test: Rows | None, sample: Table, card: TaskCard) -> Layout:
    """Read a table of training rows: each a row of predictions, or wide, or several of an id."""
    wide = melted(train, test, sample, card)
    if wide is not None:
        return wide
    columns = row_ids(train, test, sample, card)
    ids = joined_ids(train, columns)
    row_columns = set(columns) if test is None else {*columns, *test.header}
    unshared = [column for column in train.header if column not in row_columns]
    if len(columns) == 1 and card.key_columns:
        return keyed_rows(train, test, ids, columns[0], unshared, sample, card)
    label_columns, classes = find_labels(train, unshared, card)
    layout = Layout(
        card,
        train,
        test,
        sample,
        columns[0] if len(columns) == 1 else card.id_column,
        ids,
        withheld_columns=tuple(c for c in train.header if c in unshared or c in label_columns),
        label_columns=label_columns,
        labels=tuple(train.columns(label_columns)),
        classes=classes,
        groups=_prefixes(ids) if len(columns) == 1 else tuple(train.column(columns[0])),
        joined=columns if len(columns) > 1 else (),
    )
    if len(columns) == 1 and len(set(ids)) < len(ids):
        layout = several_rows(layout)
    check_rows(layout)
    return layout


def _prefixes(ids: Sequence[str]) -> tuple[str, ...] | None:
    """What each id begins with, if the ids are all pairs of something with the same few endings (`ID_1_any`)."""
    endings: Mapping[str, set[str]] = defaultdict(set)
    prefixes: list[str] = []
    for identifier in ids:
        prefix, separator, ending = identifier.rpartition("_")
        if not separator or not prefix:
            return None
        endings[prefix].add(ending)
        prefixes.append(prefix)
    first = next(iter(endings.values()), set())
    all_equal = len(first) > 1 and len(endings) > 1 and all(of_one == first for of_one in endings.values())
    return tuple(prefixes) if all_equal and len(endings) * len(first) == len(ids) else None
