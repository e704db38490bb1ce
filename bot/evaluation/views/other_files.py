"""Carries a competition's other files into a view: hard-linked, filtered where they hold labels, or left out."""

import gzip
import shutil
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, cast

from bot.evaluation.layouts.data_files import is_tar
from bot.evaluation.layouts.layout import Layout
from bot.evaluation.tables.compression import only_member, reading, writing
from bot.evaluation.tables.csv_table import Table, read_table, write_table
from scrapers.snapshots.archives import is_litter
from scrapers.snapshots.linking import link_or_copy
from state.errors import UnsupportedLayout

_TEXT_TABLES = frozenset({".csv", ".tsv", ".txt", ".tab"})
_OPAQUE = frozenset((
    ".json", ".jsonl", ".ndjson", ".parquet", ".npy", ".npz", ".feather", ".arrow", ".pkl", ".pickle", ".joblib", ".h5", ".hdf5",
    ".sqlite", ".db", ".mat", ".rds", ".rdata", ".xlsx", ".xls", ".gz", ".bz2", ".xz", ".7z", ".rar",
))  # fmt: skip
"""Files that may be tables but are not rewritten: left out where a label column's name occurs in them."""
_KEYED = frozenset({".json", ".jsonl", ".ndjson"})
"""Where names of columns stand in quotes."""
_CHUNK = 1 << 20
_FEWEST_KEYS = 10


@dataclass(frozen=True)
class WithheldRows:
    """What other files must not reveal: rows by their ids and shared keys, and the columns that test rows lack."""

    layout: Layout
    rows: frozenset[int]
    columns: frozenset[str]
    test_ids: frozenset[str]
    _keys: dict[str, tuple[frozenset[str], frozenset[str]]] = field(default_factory=dict)

    @property
    def id_columns(self) -> tuple[str, ...]:
        """What tables may call the id."""
        return tuple(dict.fromkeys((self.layout.id_column, self.layout.card.id_column)))

    def key(self, column: str) -> tuple[frozenset[str], frozenset[str]]:
        """Return the cells of a column of the training rows: of those that are withheld, and of all."""
        if column not in self._keys:
            cells = self.key_cells(column)
            self._keys[column] = frozenset(cells[row] for row in self.rows), frozenset(cells)
        return self._keys[column]

    def key_cells(self, column: str) -> Sequence[str]:
        """Return the cells of a column of the training rows, in order."""
        return self.layout.ids if column in self.id_columns else self.layout.train.column(column)

    def tested(self, column: str) -> frozenset[str]:
        """Return the cells of a column of the test rows."""
        test = self.layout.test
        if column in self.id_columns or test is None or column not in test.header:
            return self.test_ids if column in self.id_columns else frozenset()
        return frozenset(test.column(column))


def share_readable(source: Path, target: Path) -> None:
    """Share a file; of a zip with one table, beside which a Mac has put something, the table alone: readers take no other."""
    if not (source.suffix.lower() == ".zip" and _has_litter(source) and _copied(source, target)):
        link_or_copy(source, target)


def _has_litter(path: Path) -> bool:
    """Whether a zip holds one table and what a Mac has put beside it."""
    try:
        with zipfile.ZipFile(path) as archive:
            table = PurePosixPath(only_member(archive, path.name).filename)
            return len(archive.infolist()) > 1 and table.suffix.lower() in _TEXT_TABLES | _KEYED
    except (OSError, zipfile.BadZipFile, UnsupportedLayout):
        return False


def _copied(source: Path, target: Path) -> bool:
    """Write a compressed text anew, unless it is damaged or encrypted."""
    try:
        with reading(source) as text, writing(target) as copy:
            shutil.copyfileobj(text, copy)
    except UnsupportedLayout:
        target.unlink(missing_ok=True)
        return False
    return True


def carry(source: Path, target: Path, withheld: WithheldRows) -> str | None:
    """Put one file into a view without what is withheld; returns a note where it was changed or left out."""
    name = source.name
    if source.suffix.lower() in _TEXT_TABLES:
        table = _as_table(source)
        label_columns = withheld.columns & set(table.header) if table else set()
        if table is None or (label_columns and _same_ids(table, withheld)):
            link_or_copy(source, target)
            return None
        key = next((c for c in withheld.id_columns if c in table.header), None) if label_columns else None
        try:
            key = key or _training_key(table, withheld)
            if label_columns and key is None:
                return f"{name} left out: it has the column {min(label_columns)} but no id to filter by"
            if key is None:
                link_or_copy(source, target)
                return None
            place, keys, total = table.header.index(key), withheld.key(key)[0], sum(1 for _ in table.rows())
            part = (row for row in table.rows() if row[place] not in keys)
            count = write_table(target, table.header, part, table.delimiter)
            return f"{name}: removed {total - count} rows with withheld ids"
        except UnsupportedLayout as error:
            target.unlink(missing_ok=True)
            return f"{name} left out: {error}"
    if _may_hold_labels(source, withheld):
        return f"{name} left out: it may contain the labels"
    share_readable(source, target)
    return None


def _as_table(path: Path) -> Table | None:
    try:
        return read_table(path)
    except UnsupportedLayout:
        return None


def is_submission(path: Path, withheld: WithheldRows) -> bool:
    """Whether a file is one more sample submission: its ids are the test's, which may equal training ids."""
    table = _as_table(path) if path.suffix.lower() in _TEXT_TABLES else None
    return table is not None and _same_ids(table, withheld)


def _same_ids(table: Table, withheld: WithheldRows) -> bool:
    sample, id_column = withheld.layout.sample, withheld.layout.card.id_column
    return set(table.header) == set(sample.header) and set(table.column(id_column)) == set(sample.column(id_column))


def swap_sibling(source: Path, target: Path, withheld: WithheldRows, validation: Sequence[int]) -> str | None:
    """Write a further table of test rows with what its sibling holds of the rows that stand in for them, and vice versa.

    Returns:
        A note; None if the file has no such sibling.
    """
    name = source.name.lower()
    for word, other_word in (("test", "train"), ("train", "test")):
        table = _as_table(source) if word in name and source.suffix.lower() in _TEXT_TABLES else None
        twin = _named_like(source, name.replace(word, other_word)) if table is not None else None
        if table is None or twin is None or set(table.header) != set(twin.header):
            continue
        trained = twin if word == "test" else table
        key = _key_of_training(trained, withheld)
        if key is None:
            continue
        key_place, cells = trained.header.index(key), withheld.key_cells(key)
        keys = {cells[row] for row in (validation if word == "test" else withheld.rows)}
        part = (row for row in trained.rows() if (row[key_place] in keys) == (word == "test"))
        count = write_table(target, trained.header, part, trained.delimiter)
        stand_ins = f"kept the {count} rows with ids of pseudo-test rows"
        return f"{source.name}: {stand_ins if word == 'test' else 'rows with withheld ids removed'}"
    return None


def _training_key(table: Table, withheld: WithheldRows) -> str | None:
    """The column by which a table holds data on training rows alone; None if it covers test rows as well, or neither.

    Data on training rows only is like a column that test rows lack: parts of the target, notes of annotators. Data on test
    rows may be in a table of its own.
    """
    key = _key_of_training(table, withheld)
    test_twin = None if key is None else _named_like(table.path, table.path.name.lower().replace("train", "test"))
    return None if test_twin is not None and set(table.header) <= set(test_twin.header) else key


def _key_of_training(table: Table, withheld: WithheldRows) -> str | None:
    """The column by which a table holds training rows, and no test rows."""
    layout = withheld.layout
    shared = [c for c in table.header if c in layout.train.header and c not in layout.withheld_columns]
    for column in dict.fromkeys([c for c in withheld.id_columns if c in table.header] + shared):
        trained, tested = withheld.key(column)[1], withheld.tested(column)
        if trained & tested or not tested or len(trained) < _FEWEST_KEYS:
            continue
        cells = set(table.column(column))
        return column if cells & trained and not cells & tested else None
    return None


def _named_like(path: Path, name: str) -> Table | None:
    """The table of that name, whatever its case, beside another."""
    twin = next((p for p in sorted(path.parent.iterdir()) if p != path and p.name.lower() == name), None)
    return None if twin is None else _as_table(twin)


def _may_hold_labels(path: Path, withheld: WithheldRows) -> bool:
    """Whether a file that is not rewritten names a withheld column, and so may hold its values."""
    names = [column.encode("utf-8", "surrogateescape") for column in withheld.columns]
    lowered = {name.lower() for name in withheld.columns}
    try:
        for name, open_member in _members(path):
            member = PurePosixPath(name.lower())
            # Arrays in an .npz are members named by their columns.
            if name != path.name and member.suffix and member.stem in lowered:
                return True
            if member.suffix in _TEXT_TABLES | _OPAQUE:
                with open_member() as file:
                    if _holds_name(file, member.suffix, names):
                        return True
    # A RuntimeError is what zipfile raises for an encrypted member.
    except (OSError, EOFError, RuntimeError, zipfile.BadZipFile, tarfile.TarError):
        return True
    return False


def _members(path: Path) -> Iterator[tuple[str, Callable[[], IO[bytes]]]]:
    """Yield the members of an archive, or else the file itself, each by name and how it is opened."""
    if zipfile.is_zipfile(path):
        without_litter = _has_litter(path)
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                if not info.is_dir() and not (without_litter and is_litter(info.filename)):
                    yield info.filename, partial(archive.open, info)
    elif is_tar(path):
        with tarfile.open(path) as tar:
            for member in filter(tarfile.TarInfo.isfile, tar):
                yield member.name, cast(Callable[[], IO[bytes]], partial(tar.extractfile, member))
    else:
        open_file = gzip.open if path.suffix.lower() == ".gz" else open
        yield path.name, cast(Callable[[], IO[bytes]], partial(open_file, path, "rb"))


def _holds_name(file: IO[bytes], suffix: str, names: Sequence[bytes]) -> bool:
    """Whether a text table names one in its header, or anything else anywhere."""
    if suffix in _TEXT_TABLES:
        first = file.readline(_CHUNK)
        return any(name in first for name in names)
    if suffix in _KEYED:
        names = [b'"' + name + b'"' for name in names]
    overlap = max(map(len, names), default=1)
    tail = b""
    while chunk := file.read(_CHUNK):
        if any(name in tail + chunk for name in names):
            return True
        tail = chunk[-overlap:]
    return False
