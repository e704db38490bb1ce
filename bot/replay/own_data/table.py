"""One table of a person's own, checked once from its first row to its last, and read again as often as it is needed."""

import csv
import gzip
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from scrapers.snapshots.tables import LONGEST_FIELD, NotCsv, refuse_packed
from state.errors import UsageError

_DELIMITERS = ",;\t|"
_EMPTY = frozenset({"", "nan", "na", "n/a", "null", "none"})
"""How tables spell a missing cell, in lower case."""


@dataclass(frozen=True)
class OwnTable:
    """A readable table: UTF-8, a header of different names, and at least one row, each as long as the header."""

    path: Path
    header: tuple[str, ...]
    length: int
    """Rows without the header."""
    delimiter: str

    @property
    def name(self) -> str:
        """The file's name, for sentences."""
        return self.path.name

    @classmethod
    def read(cls, path: Path) -> "OwnTable":
        """Check a table (`.csv`, `.tsv`, `.txt`, any of them with `.gz`); its delimiter is the commonest in the header.

        Raises:
            UsageError: it cannot be read; the sentence gives the reason, and the line where that is known.
        """
        try:
            first = next(_lines(path), "")
            delimiter = max(_DELIMITERS, key=first.count)
            rows = _cells(path, delimiter)
            header = tuple(name.strip() for name in next(rows, (0, []))[1])
            _check_header(path.name, header)
            length = sum(1 for _ in _whole(path.name, rows, len(header)))
        except UnicodeDecodeError as error:
            raise UsageError(f"{path.name} is not UTF-8 ({error.reason}): save it as UTF-8") from error
        except (csv.Error, NotCsv) as error:
            raise UsageError(f"{path.name} cannot be read as a table: {error}") from error
        except (OSError, EOFError) as error:
            raise UsageError(f"{path.name} cannot be read: {getattr(error, 'strerror', None) or error}") from error
        if not length:
            raise UsageError(f"{path.name} has a header and no rows")
        return cls(path, header, length, delimiter)

    def rows(self) -> Iterator[list[str]]:
        """Yield the rows in order."""
        rows = _cells(self.path, self.delimiter)
        next(rows)
        return (cells for _, cells in rows)

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


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text, perhaps of gzip; raises UnicodeDecodeError where it is not UTF-8."""
    with path.open("rb") as raw:
        packed = path.suffix.lower() == ".gz"
        if not packed:
            refuse_packed(raw.peek(4))
        with io.TextIOWrapper(gzip.open(raw) if packed else raw, encoding="utf-8-sig", newline="") as text:
            yield from text


def _cells(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and cells of each row, the header first, blank lines left out."""
    csv.field_size_limit(LONGEST_FIELD)
    reader = csv.reader(_lines(path), delimiter=delimiter)
    for cells in reader:
        if cells:
            yield reader.line_num, cells


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
