"""CSV files read row by row in bounded memory, in folders and inside zip archives."""

import contextlib
import csv
import gzip
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

_ARCHIVES = ((b"PK\x03\x04", "a zip archive"), (b"\x1f\x8b", "packed with gzip"))
"""How files begin that are no tables, and what they are."""
_LONGEST_FIELD = 16_000_000  # characters; a stray quote must not swallow a whole file


class NotCsv(Exception):
    """A file that cannot be read as a table; the text says why, `line` where, if that is known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


Rows = Iterator[tuple[int, list[str]]]
"""Line number from 1, and the cells."""


@contextlib.contextmanager
def open_table(path: Path) -> Iterator[Rows]:
    """Open a table of a folder (`.csv`, `.tsv`, either with `.gz`) as rows, the header first, without blank lines.

    Bytes that are not UTF-8 are kept apart from one another, so that ids stay different. Going through the rows raises
    NotCsv where the table cannot be tokenised, and what reading the file raises.

    Raises:
        NotCsv: it is an archive, whatever its name.
    """
    with path.open("rb") as raw:
        head = raw.read(4)
        raw.seek(0)
        packed = path.name.lower().endswith(".gz")
        for signature, kind in () if packed else _ARCHIVES:
            if head.startswith(signature):
                raise NotCsv(f"is {kind}, whatever its name: unpack it")
        if path.name.lower().endswith(".gz"):
            with gzip.open(raw) as unpacked, _text(unpacked) as text:
                yield _rows(text, _delimiter(path.name))
        else:
            with _text(raw) as text:
                yield _rows(text, _delimiter(path.name))


@contextlib.contextmanager
def open_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Iterator[Rows]:
    """Open a table inside an archive, as `open_table` does."""
    with archive.open(member) as unpacked, _text(unpacked) as text:
        yield _rows(text, _delimiter(member.filename))


def _text(binary: IO[bytes] | gzip.GzipFile) -> io.TextIOWrapper:
    return io.TextIOWrapper(binary, encoding="utf-8-sig", errors="surrogateescape", newline="")


def _rows(text: io.TextIOWrapper, delimiter: str) -> Rows:
    csv.field_size_limit(_LONGEST_FIELD)
    reader = csv.reader(text, delimiter=delimiter)
    try:
        for cells in reader:
            if cells:
                yield reader.line_num, cells
    except csv.Error as error:
        raise NotCsv(f"cannot be read as CSV: {error}", reader.line_num) from None


def is_table(name: str) -> bool:
    """Whether a file name says that it is a table that `open_table` reads."""
    return name.lower().removesuffix(".gz").endswith((".csv", ".tsv"))


def _delimiter(name: str) -> str:
    return "\t" if name.lower().removesuffix(".gz").endswith(".tsv") else ","
