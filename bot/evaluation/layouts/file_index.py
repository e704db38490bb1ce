"""Training rows that are files: an index of them replaces the missing table."""

import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from bot.evaluation.tables.csv_table import Rows, write_table
from scrapers.snapshots.linking import link_or_copy

INDEX = Path("train.csv")
_HASHED_BYTES = 1 << 14
_TIME = 1_000_000_000
"""Modification time of all moved files (seconds since 1970), as the real one might depend on the label."""


@dataclass(frozen=True)
class RowFile:
    """One training row: the file, its label, and the file of its labels if it has one; paths below the data folder."""

    id: str
    file: Path
    label: str
    label_file: Path | None = None


@dataclass(frozen=True)
class FileTable(Rows):
    """Files by id and label; if their places reveal the labels, files of validation rows go to another place."""

    data_dir: Path
    entries: tuple[RowFile, ...]
    moved_to: Path | None
    """The folder for files of validation rows; None: they may stay where they are."""

    @property
    def files(self) -> frozenset[Path]:
        """The files that hold the rows."""
        file_pairs = ((entry.file, entry.label_file) for entry in self.entries)
        return frozenset(self.data_dir / path for pair in file_pairs for path in pair if path is not None)

    def rows(self) -> Iterator[list[str]]:
        """Yield the id, the file and the label of each."""
        for entry in self.entries:
            yield [entry.id, entry.file.as_posix(), entry.label]

    def write_part(self, target: Path, rows: Set[int]) -> int:
        """Write the index of those files (numbers from 0), and share the files where they lie, with their labels."""
        entries = [entry for number, entry in enumerate(self.entries) if number in rows]
        for entry in entries:
            link_or_copy(self.data_dir / entry.file, target.parent / entry.file)
            if entry.label_file is not None:
                link_or_copy(self.data_dir / entry.label_file, target.parent / entry.label_file)
        return write_table(target, self.header, ([e.id, e.file.as_posix(), e.label] for e in entries))

    def write_chosen(self, target: Path, columns: Sequence[str], rows: Sequence[int]) -> None:
        """Write the index of those files, in that order, without labels, and put the files where they may lie."""
        lines = []
        for entry in (self.entries[row] for row in rows):
            place = entry.file if self.moved_to is None else self.moved_to / file_name(entry)
            self.copy_file(entry, target.parent / place)
            cells = {self.header[0]: entry.id, self.header[1]: place.as_posix()}
            lines.append([cells.get(column, "") for column in columns])
        write_table(target, columns, lines)

    def moved_names(self, rows: Sequence[int]) -> frozenset[str]:
        """Return what these rows' files are named, with and without suffix, if the files are moved; else nothing."""
        files = [] if self.moved_to is None else [self.entries[row].file for row in rows]
        return frozenset(name for file in files for name in (file.name, file.stem))

    def copy_file(self, entry: RowFile, target: Path) -> None:
        """Copy a file to another place: a link would keep its inode number and time."""
        if self.moved_to is None:
            # The view that withholds nothing has it there already.
            if not target.exists():
                link_or_copy(self.data_dir / entry.file, target)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.data_dir / entry.file, target)
        os.utime(target, (_TIME, _TIME))


def index_header(id_column: str, label: str) -> tuple[str, str, str]:
    """Return an index's columns: the id, where the file lies, and the label."""
    return id_column, "path" if "path" not in (id_column, label) else "path_of_file", label


def file_name(entry: RowFile) -> str:
    """Return a file's name by its id alone."""
    suffix = entry.file.suffix
    return entry.id if entry.id.endswith(suffix) else entry.id + suffix


def fingerprint(path: Path) -> str:
    """Return a hash of a file's size, beginning and end, for an order of files that reveals nothing."""
    size = path.stat().st_size
    with path.open("rb") as file:
        digest = hashlib.sha256(str(size).encode() + file.read(_HASHED_BYTES))
        file.seek(max(0, size - _HASHED_BYTES))
        digest.update(file.read(_HASHED_BYTES))
    return digest.hexdigest()
