"""The tables of a prepared competition: opened with their faults named, unpacked, or made from JSON lines."""

import csv
import gzip
import json
import shutil
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from scrapers.snapshots.archives import is_litter
from scrapers.snapshots.problems import Problems, json_object
from scrapers.snapshots.tables import NotCsv, Rows, is_table, open_table
from scrapers.snapshots.unpacking import ZipExtractor
from state.errors import DownloadFailed, Problem, SnapshotError


@contextmanager
def table_rows(table: Path) -> Iterator[Rows]:
    """Open a table as rows, the header first. Raises SnapshotError if it cannot be read as CSV."""
    try:
        with open_table(table) as rows:
            yield rows
    except NotCsv as error:
        raise SnapshotError([Problem(table.name, error.line, str(error))]) from error


def header_of(table: Path) -> tuple[str, ...]:
    """Return a table's column names. Raises SnapshotError if it is empty or cannot be read as CSV."""
    with table_rows(table) as rows:
        header = tuple(next(rows, (0, []))[1])
    if not header:
        raise SnapshotError([Problem(table.name, None, "is empty")])
    return header


class TableWriter:
    """Writes rows as CSV that every reader takes for the same cells."""

    def __init__(self, file: TextIO) -> None:
        self._plain = csv.writer(file, lineterminator="\n")
        # Python 3.11 leaves a lone carriage return unquoted, which readers take for the end of a line.
        self._quoting = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)

    def write(self, cells: Sequence[str]) -> None:
        """Write one row."""
        writer = self._quoting if any("\r" in cell for cell in cells) else self._plain
        writer.writerow(cells)


@contextmanager
def written_table(path: Path) -> Iterator[TableWriter]:
    """Create a table in UTF-8; bytes that were not UTF-8 are written as they were read."""
    with path.open("x", encoding="utf-8", errors="surrogateescape", newline="") as file:
        yield TableWriter(file)


def unpack_sample(sample: Path, scratch: Path) -> Path:
    """Return the sample as a table, unpacked into `scratch` if it is packed. Raises SnapshotError if it is not one table."""
    try:
        if sample.suffix.lower() == ".gz":
            target = scratch / sample.stem
            with gzip.open(sample) as compressed, target.open("xb") as file:
                shutil.copyfileobj(compressed, file)
            return target
        if sample.suffix.lower() != ".zip":
            return sample
        folder = scratch / "sample"
        folder.mkdir()
        tables = [
            name for name in ZipExtractor(sample.name, sample, folder).run() if is_table(name) and not is_litter(name)
        ]
    except (DownloadFailed, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise SnapshotError([Problem(sample.name, None, f"cannot be unpacked: {error}")]) from error
    if len(tables) != 1:
        raise SnapshotError(
            [Problem(sample.name, None, f"contains {len(tables)} tables; it must contain only the sample submission")]
        )
    return folder / tables[0]


def table_of_lines(lines: Path, scratch: Path) -> Path | None:
    """Write the plain fields of JSON lines as a table into `scratch`; None if there are none. Raises SnapshotError."""
    target = scratch / f"{lines.stem}.csv"
    header, problems = list[str](), Problems()
    with lines.open("rb") as file, written_table(target) as writer:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            row = json_object(line, lines.name, number, problems)
            if row is None:
                raise SnapshotError(problems.problems)
            if not header:
                header = [name for name, cell in row.items() if not isinstance(cell, list | dict)]
                writer.write(header)
            writer.write([_cell(row.get(name)) for name in header])
    return target if header else None


def _cell(value: object) -> str:
    if value is None or isinstance(value, list | dict):
        return ""
    return json.dumps(value) if isinstance(value, bool) else str(value)
