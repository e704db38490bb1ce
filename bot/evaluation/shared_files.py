"""Carries a competition's other files into a view: hard-linked, filtered where they hold labels, or left out."""

import gzip
import os
import shutil
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from bot.evaluation.layout import Layout
from bot.evaluation.tables import Table, read_table, write_table
from state.errors import UnsupportedLayout

_TEXT_TABLES = frozenset({".csv", ".tsv", ".txt", ".tab"})
_OPAQUE = frozenset(
    {
        ".json",
        ".jsonl",
        ".ndjson",
        ".parquet",
        ".npy",
        ".feather",
        ".arrow",
        ".pkl",
        ".pickle",
        ".joblib",
        ".h5",
        ".hdf5",
    }
    | {".sqlite", ".db", ".npz", ".mat", ".rds", ".rdata", ".xlsx", ".xls", ".gz", ".bz2", ".xz", ".7z", ".rar"}
)
"""Files that may be tables but are not rewritten: left out where a label column's name occurs in them."""
_KEYED = frozenset({".json", ".jsonl", ".ndjson"})
"""Where names of columns stand in quotes."""
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Withheld:
    """What other files must not give away: ids of withheld rows and the columns that test rows lack."""

    id_column: str
    ids: frozenset[str]
    columns: frozenset[str]
    submission_header: tuple[str, ...]
    test_ids: frozenset[str]


def withheld_from(layout: Layout, rows: Sequence[int]) -> Withheld:
    """Describe what must not be told of those training rows."""
    return Withheld(
        layout.card.id_column,
        frozenset(layout.ids[row] for row in rows),
        frozenset(layout.withheld_columns) | frozenset(layout.card.prediction_columns),
        layout.sample.header,
        frozenset(layout.sample.column(layout.card.id_column)),
    )


def data_files(data_dir: Path) -> Iterator[Path]:
    """Yield every file below a folder, relative to it, in order; linked folders are entered once."""
    seen: set[Path] = set()
    for folder, folders, names in os.walk(data_dir, followlinks=True):
        real = Path(folder).resolve()
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders.sort()
        for name in sorted(names):
            path = Path(folder, name)
            if path.is_file():
                yield path.relative_to(data_dir)


def share(source: Path, target: Path) -> None:
    """Hard-link a file, or copy it where links cannot be made; never a symbolic link, which a mount would not carry."""
    target.parent.mkdir(parents=True, exist_ok=True)
    real = source.resolve()
    try:
        target.hardlink_to(real)
    except OSError:
        # Another file system, a read-only one, or a file of somebody else: each has its own error number.
        shutil.copyfile(real, target)


def carry(source: Path, target: Path, withheld: Withheld) -> str | None:
    """Put one file into a view without what is withheld; returns a note where it was changed or left out."""
    name = source.name
    if source.suffix.lower() in _TEXT_TABLES:
        table = _as_table(source)
        held = withheld.columns & set(table.header) if table else set()
        if table is None or not held or _is_submission(table, withheld):
            share(source, target)
            return None
        if withheld.id_column not in table.header:
            return f"{name} left out: it has the column {min(held)} but no id to filter by"
        try:
            return f"{name}: {_filter(table, target, withheld)} rows of withheld ids dropped"
        except UnsupportedLayout as error:
            target.unlink(missing_ok=True)
            return f"{name} left out: {error}"
    if _may_tell(source, withheld):
        return f"{name} left out: it may hold the labels"
    share(source, target)
    return None


def _as_table(path: Path) -> Table | None:
    try:
        return read_table(path)
    except UnsupportedLayout:
        return None


def _is_submission(table: Table, withheld: Withheld) -> bool:
    """Whether a table is one more sample submission: its ids are the test's, which may equal training ids."""
    return (
        set(table.header) == set(withheld.submission_header)
        and frozenset(table.column(withheld.id_column)) == withheld.test_ids
    )


def _filter(table: Table, target: Path, withheld: Withheld) -> int:
    at = table.header.index(withheld.id_column)
    total = sum(1 for _ in table.rows())
    target.parent.mkdir(parents=True, exist_ok=True)
    kept = write_table(
        target, table.header, (row for row in table.rows() if row[at] not in withheld.ids), table.delimiter
    )
    return total - kept


def _may_tell(path: Path, withheld: Withheld) -> bool:
    """Whether a file that is not rewritten names a withheld column, and so may hold its values."""
    names = [column.encode("utf-8", "surrogateescape") for column in withheld.columns]
    suffix = path.suffix.lower()
    try:
        if zipfile.is_zipfile(path):
            return _zip_tells(path, names)
        if suffix in {".tar", ".tgz"} or path.name.lower().endswith((".tar.gz", ".tar.bz2", ".tar.xz")):
            return _tar_tells(path, names)
        if suffix == ".gz":
            with gzip.open(path) as file:
                return _names_any(cast(IO[bytes], file), names)
    except (OSError, EOFError, zipfile.BadZipFile, tarfile.TarError):
        return True
    if suffix in _OPAQUE:
        with path.open("rb") as file:
            return _tells(file, suffix, names)
    return False


def _zip_tells(path: Path, names: Sequence[bytes]) -> bool:
    lowered = {name.lower() for name in names}
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            # Arrays in an .npz are members named by their columns.
            stem, _, suffix = member.filename.lower().rpartition("/")[2].rpartition(".")
            if stem.encode("utf-8", "surrogateescape") in lowered:
                return True
            if f".{suffix}" in _TEXT_TABLES | _OPAQUE:
                if member.flag_bits & 1:
                    return True
                with archive.open(member) as file:
                    if _tells(file, f".{suffix}", names):
                        return True
    return False


def _tar_tells(path: Path, names: Sequence[bytes]) -> bool:
    with tarfile.open(path) as archive:
        for member in archive:
            suffix = Path(member.name).suffix.lower()
            if member.isfile() and suffix in _TEXT_TABLES | _OPAQUE:
                file = archive.extractfile(member)
                if file is not None and _tells(file, suffix, names):
                    return True
    return False


def _tells(file: IO[bytes], suffix: str, names: Sequence[bytes]) -> bool:
    """A text table tells by its header alone; anything else by what it holds anywhere."""
    if suffix in _TEXT_TABLES:
        first = file.readline(_CHUNK)
        return any(name in first for name in names)
    if suffix in _KEYED:
        names = [b'"' + name + b'"' for name in names]
    return _names_any(file, names)


def _names_any(file: IO[bytes], names: Sequence[bytes]) -> bool:
    overlap = max(map(len, names), default=1)
    tail = b""
    while chunk := file.read(_CHUNK):
        if any(name in tail + chunk for name in names):
            return True
        tail = chunk[-overlap:]
    return False
