"""Locates the tables of training and test rows, whatever their names, and the column of their ids."""

import zipfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from bot.evaluation.tables.compression import kind_of, only_member
from bot.evaluation.tables.csv_table import Rows, Table, read_table
from bot.evaluation.tables.json_table import JSON, read_json_table
from scrapers.snapshots.card import TaskCard
from state.errors import UnsupportedLayout

TEXT = frozenset({".csv", ".tsv", ".tab"})
_NOT_TRAINING = ("test", "sample", "submission", "valid")
_ID_WORDS = ("id", "image", "img", "file", "filename", "fname", "name", "key", "clip")
_PROBE = 1000


def table_kind(path: Path) -> str | None:
    """Return `.csv`, `.json` and the like for a file that may be a table, compressed or not; None for any other."""
    kind = kind_of(path)
    if not kind and path.suffix.lower() == ".zip":
        try:
            with zipfile.ZipFile(path) as archive:
                kind = Path(only_member(archive, path.name).filename).suffix.lower()
        except (OSError, zipfile.BadZipFile, UnsupportedLayout):
            return None
    return kind if kind in TEXT | JSON else None


def read_any(path: Path) -> Rows:
    """Open a table of text or JSON records. Raises UnsupportedLayout: it is not a table."""
    return read_json_table(path) if table_kind(path) in JSON else read_table(path)


def _tables(data_dir: Path) -> Iterator[Path]:
    """Yield the tables of a folder and of those in it, by name."""
    for pattern in ("*", "*/*"):
        for path in sorted(data_dir.glob(pattern)):
            if path.suffix.lower() in TEXT | JSON | {".gz", ".zip"} and path.is_file() and table_kind(path):
                yield path


def find_test(data_dir: Path, card: TaskCard, sample: Table) -> Rows | None:
    """Return the table of test rows; None if test rows are only the sample's ids.

    It is test.csv, or another table with `test` in its name that has the sample's id column, a column of the same ids, or one
    of what they begin with.
    """
    if (data_dir / "test.csv").is_file():
        return read_table(data_dir / "test.csv")
    ids = frozenset(sample.column(card.id_column))
    for path in _tables(data_dir):
        name = path.name.lower()
        if "test" not in name or any(word in name for word in _NOT_TRAINING[1:3]):
            continue
        try:
            table = read_any(path)
            if card.id_column in table.header or _column_of(table, ids) is not None:
                return table
            # A column may hold what composite ids begin with.
            beginnings = {id[:i] for id in ids for i, letter in enumerate(id) if letter == "_"}
            if any(cells and set(cells) <= beginnings for cells in table.heads(table.header, _PROBE).values()):
                return table
        except UnsupportedLayout:
            continue
    return None


def _column_of(table: Rows, ids: frozenset[str]) -> str | None:
    """The column that holds some ids, all of them."""
    heads = table.heads(table.header, _PROBE)
    likely = [c for c in dict.fromkeys(table.header) if heads[c] and set(heads[c]) <= ids]
    return next((c for c in likely if ids <= set(table.column(c))), None)


def find_training_tables(data_dir: Path, test: Rows | None) -> list[Path]:
    """Return the tables that may hold the labels, the likeliest first: train.csv, those named train, then labels."""
    ranking: list[tuple[int, int, Path]] = []
    for path in _tables(data_dir):
        name = path.name.lower()
        if any(word in name for word in _NOT_TRAINING) or (test is not None and path == test.path):
            continue
        stem, plain = name.split(".")[0], path.name == "train.csv" and path.parent == data_dir
        words = (stem == "train", "train" in stem and "label" in stem, "train" in stem, "label" in stem)
        if any(words):
            ranking.append((-1 if plain else words.index(True), len(path.parts), path))
    return [path for _, _, path in sorted(ranking)]


def row_ids(train: Rows, test: Rows | None, sample: Table, card: TaskCard) -> tuple[str, ...]:
    """Return the columns of the training rows whose cells, joined by `_`, are ids as the sample writes them.

    Mostly that is one, named as the sample names it. Otherwise it is the column that holds the sample's ids in the test
    rows; or two such; or the one column that is named like an id and never repeats itself.

    Raises UnsupportedLayout: there is none.
    """
    if train.header.count(card.id_column) == 1:
        return (card.id_column,)
    ids = frozenset(sample.column(card.id_column))
    if test is not None and card.id_column not in test.header:
        id_column = _column_of(test, ids)
        if id_column is not None and train.header.count(id_column) == 1:
            return (id_column,)
        pair = _pair_of(train, test, ids)
        if pair is not None:
            return pair
    likely_ids = [c for c in train.header if card.id_column.lower() == c.lower()]
    likely_ids += [c for c in train.header if set(c.lower().replace("-", "_").split("_")) & set(_ID_WORDS)]
    for column in likely_ids:
        cells = train.column(column)
        if train.header.count(column) == 1 and len(set(cells)) == len(cells):
            return (column,)
    raise UnsupportedLayout(f"{train.path.name} must have exactly one column named {card.id_column!r}.")


def _pair_of(train: Rows, test: Rows, ids: frozenset[str]) -> tuple[str, str] | None:
    """Two columns of both tables that make up the ids of the test rows, such as sentence and token."""
    shared = [c for c in test.header if train.header.count(c) == 1 and test.header.count(c) == 1]
    heads = test.heads(shared, _PROBE)
    for first in shared:
        for second in shared:
            joined = [f"{a}_{b}" for a, b in zip(heads[first], heads[second], strict=True)]
            if first == second or not joined or not set(joined) <= ids:
                continue
            if ids <= {f"{a}_{b}" for a, b in test.columns((first, second))}:
                return first, second
    return None


def joined_ids(train: Rows, columns: tuple[str, ...]) -> tuple[str, ...]:
    """Return the id of each training row."""
    return tuple("_".join(cells) for cells in train.columns(columns))


def default_row(sample: Table) -> list[str]:
    """Return the sample's first row, by which others are filled. Raises UnsupportedLayout: it has none."""
    for row in islice(sample.rows(), 1):
        return row
    raise UnsupportedLayout("sample_submission.csv has no rows.")
