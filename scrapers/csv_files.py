"""CSV files read row by row in bounded memory, in folders and inside zip archives."""

import contextlib
import csv
import gzip
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

_LONGEST_FIELD = 16_000_000  # characters; a stray quote must not swallow a whole file


class NotCsv(Exception):
    """A file that cannot be read as a table; the text says why, `line` where, if that is known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


Rows = Iterator[tuple[int, list[str]]]


def rows(binary: IO[bytes] | gzip.GzipFile, delimiter: str = ",") -> Rows:
    """Yield (line number from 1, cells) of a table, the header first; blank lines are left out.

    Bytes that are not UTF-8 are kept apart from one another, so that ids stay different.

    Raises:
        NotCsv: the table cannot be tokenised.
        OSError, EOFError, zipfile.BadZipFile: as the file beneath does.
    """
    csv.field_size_limit(_LONGEST_FIELD)
    text = io.TextIOWrapper(binary, encoding="utf-8-sig", errors="surrogateescape", newline="")
    reader = csv.reader(text, delimiter=delimiter)
    try:
        for cells in reader:
            if cells:
                yield reader.line_num, cells
    except csv.Error as error:
        raise NotCsv(f"cannot be read as CSV: {error}", reader.line_num) from None


@contextlib.contextmanager
def open_table(path: Path) -> Iterator[Rows]:
    """Open a table of a folder (`.csv`, `.tsv`, either with `.gz`); raises what `rows` raises."""
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    with path.open("rb") as raw:
        if suffixes and suffixes[-1] == ".gz":
            with gzip.open(raw) as unpacked:
                yield rows(unpacked, _delimiter(path.name))
        else:
            yield rows(raw, _delimiter(path.name))


@contextlib.contextmanager
def open_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Iterator[Rows]:
    """Open a table inside an archive; raises what `rows` raises."""
    with archive.open(member) as unpacked:
        yield rows(unpacked, _delimiter(member.filename))


def is_table(name: str) -> bool:
    """Whether a file name says that it is a table that `rows` reads."""
    return name.lower().removesuffix(".gz").endswith((".csv", ".tsv"))


def _delimiter(name: str) -> str:
    return "\t" if name.lower().removesuffix(".gz").endswith(".tsv") else ","
