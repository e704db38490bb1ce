"""One table of a person's own, checked once from its first row to its last, and read again as often as it is needed.

Numbers with a decimal comma (`3.063,38`), as tables from much of Europe have them, are read with a decimal point.
"""

import gzip
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from scrapers.snapshots.tables import NotCsv, refuse_packed, rows_of
from state.errors import UsageError

_DELIMITERS = ",;\t|"
_UTF_8, WINDOWS = "utf-8-sig", "cp1252"
_HEAD = 5000
"""Rows by which decimal commas are recognised."""
_EMPTY = frozenset({"", "nan", "na", "n/a", "null", "none"})
"""How tables spell a missing cell, in lower case."""

_COMMA = re.compile(r"[-+]?(?:\d{1,3}(?:[. \u00a0\u202f]\d{3})+|\d+)(?:,\d+)?")
"""Perhaps with points or spaces between thousands. predict.py.txt has the same."""
_EITHER = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")
"""A comma that may as well part thousands: 1,234."""
_THOUSANDS = str.maketrans({".": "", " ": "", "\u00a0": "", "\u202f": "", ",": "."})
_SHARE = 0.99
"""Of a column's filled cells, at least so many are numbers; others hold no digit (`n/a`)."""


@dataclass(frozen=True)
class OwnTable:
    """A readable table: UTF-8 or cp1252, a header of different names, and at least one row, each as long as the header."""

    path: Path
    header: tuple[str, ...]
    length: int
    """Rows without the header."""
    delimiter: str
    encoding: str = _UTF_8
    decimals: tuple[str, ...] = ()
    """Columns whose numbers have decimal commas, which are read as points."""

    @property
    def name(self) -> str:
        """The file's name, for sentences."""
        return self.path.name

    @classmethod
    def read(cls, path: Path) -> "OwnTable":
        """Check a table (`.csv`, `.tsv`, `.txt`, any of them with `.gz`); its delimiter is the commonest in the header.

        It is UTF-8, or else cp1252, as spreadsheets on Windows save it.

        Raises:
            UsageError: it cannot be read; the sentence gives the reason, and the line where that is known.
        """
        try:
            try:
                return cls._checked(path, _UTF_8)
            except UnicodeDecodeError as error:
                return cls._windows(path, error.reason)
        except NotCsv as error:
            raise UsageError(f"{path.name} cannot be read as a table: {error}") from error
        except (OSError, EOFError) as error:
            raise UsageError(f"{path.name} cannot be read: {getattr(error, 'strerror', None) or error}") from error

    @classmethod
    def _windows(cls, path: Path, reason: str) -> "OwnTable":
        try:
            if "\0" not in next(_lines(path, WINDOWS), ""):  # as UTF-16 would have
                return cls._checked(path, WINDOWS)
        except UnicodeDecodeError:
            pass
        raise UsageError(f"{path.name} is not UTF-8 ({reason}): save it as UTF-8")

    @classmethod
    def _checked(cls, path: Path, encoding: str) -> "OwnTable":
        first = next(_lines(path, encoding), "")
        delimiter = max(_DELIMITERS, key=first.count)
        rows = rows_of(_lines(path, encoding), delimiter)
        header = tuple(name.strip() for name in next(rows, (0, []))[1])
        _check_header(path.name, header)
        length = sum(1 for _ in _whole(path.name, rows, len(header)))
        if not length:
            raise UsageError(f"{path.name} has a header and no rows")
        table = cls(path, header, length, delimiter, encoding)
        if delimiter == ",":
            return table
        return table.with_decimals(_columns_with_commas(header, islice(table.rows(), _HEAD)))

    def with_decimals(self, columns: Sequence[str]) -> "OwnTable":
        """Return the table with those of the columns that it has read as numbers with decimal commas."""
        return replace(self, decimals=tuple(name for name in columns if name in self.header))

    def rows(self) -> Iterator[list[str]]:
        """Yield the rows in order."""
        rows = rows_of(_lines(self.path, self.encoding), self.delimiter)
        next(rows)
        places = [place for place, name in enumerate(self.header) if name in self.decimals]
        for _, cells in rows:
            for place in places:
                cells[place] = _with_point(cells[place])
            yield cells

    def column(self, name: str) -> Iterator[str]:
        """Yield a column's cells in order."""
        place = self.header.index(name)
        return (cells[place] for cells in self.rows())


def is_missing(cell: str) -> bool:
    """Return whether a cell holds nothing."""
    return cell.strip().lower() in _EMPTY


def count_values(cells: Iterator[str]) -> Counter[str]:
    """Count the values of a column, those that are missing left out."""
    return Counter(cell.strip() for cell in cells if not is_missing(cell))


def _lines(path: Path, encoding: str) -> Iterator[str]:
    """Yield the lines of a text, perhaps of gzip; raises UnicodeDecodeError where it is not of that encoding."""
    with path.open("rb") as raw:
        packed = path.suffix.lower() == ".gz"
        if not packed:
            refuse_packed(raw.peek(4))
        with io.TextIOWrapper(gzip.open(raw) if packed else raw, encoding=encoding, newline="") as text:
            yield from text


def _whole(name: str, rows: Iterator[tuple[int, list[str]]], width: int) -> Iterator[Sequence[str]]:
    for line, cells in rows:
        if len(cells) != width:
            raise UsageError(f"{name}, line {line}: it has {len(cells)} cells, but the header has {width}")
        yield cells


def _check_header(name: str, header: Sequence[str]) -> None:
    if not header:
        raise UsageError(f"{name} is empty")
    if twice := [column for column, count in Counter(header).items() if count > 1]:
        raise UsageError(f"{name} names the column {twice[0]!r} twice")


def _columns_with_commas(header: Sequence[str], rows: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return the columns whose numbers have decimal commas.

    One cell at least must leave no doubt: a column in which all commas may part thousands is not one of them. The rows are the
    first of a table whose cells are not separated by commas.
    """
    places = dict.fromkeys(range(len(header)), False)
    filled, numbers = [0] * len(header), [0] * len(header)
    for cells in rows:
        for place in list(places):
            cell = cells[place].strip()
            if _COMMA.fullmatch(cell):
                numbers[place] += 1
                places[place] |= "," in cell and _EITHER.fullmatch(cell) is None
            elif any(map(str.isdigit, cell)):
                del places[place]
                continue
            filled[place] += cell != ""
    return tuple(header[at] for at, sure in places.items() if sure and numbers[at] >= _SHARE * filled[at])


def _with_point(cell: str) -> str:
    """Return a number with a decimal point in place of the comma, and nothing between thousands; other cells as they are."""
    stripped = cell.strip()
    return stripped.translate(_THOUSANDS) if _COMMA.fullmatch(stripped) else cell
