"""CSV tables as text: rows are read and written without changing the text of any cell."""

import csv
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from bot.evaluation.tables.compression import kind_of, reading, writing
from scrapers.snapshots.tables import row_key
from state.errors import UnsupportedLayout

_DELIMITERS = (",", "\t", ";", "|")
_TAB, _TAB_SUFFIXES = ("\t",), frozenset({".tsv", ".tab"})
_MUST_QUOTE = re.compile(r'["\r\n]')


@dataclass(frozen=True)
class Rows(ABC):
    """Rows of cells below a header, kept somewhere on disk."""

    path: Path
    header: tuple[str, ...]

    @abstractmethod
    def rows(self) -> Iterator[list[str]]:
        """Yield each row's cells, as many as the header has. Raises UnsupportedLayout where one cannot be read."""

    @property
    def files(self) -> frozenset[Path]:
        """The files that hold the rows."""
        return frozenset({self.path})

    def column(self, name: str) -> list[str]:
        """Return one column's cells; raises as `columns`."""
        return [cell for (cell,) in self.columns([name])]

    def keys(self, names: Sequence[str]) -> list[str]:
        """Return the key of each row by some columns, as `row_key` writes it; raises as `columns`."""
        return [row_key(cells) for cells in self.columns(names)]

    def heads(self, names: Sequence[str], count: int | None) -> dict[str, list[str]]:
        """Return the first cells (all, if None) of some columns (they must exist), by column."""
        places = [self.header.index(name) for name in names]
        cells: list[list[str]] = [[] for _ in places]
        for row in islice(self.rows(), count) if places else ():
            for column, place in zip(cells, places, strict=True):
                column.append(row[place])
        return dict(zip(names, cells, strict=True))

    def columns(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """Return some columns as one tuple a row. Raises UnsupportedLayout: there is no such column."""
        if absent := [name for name in names if name not in self.header]:
            raise UnsupportedLayout(f"{self.path.name} has no column {absent[0]!r}.")
        places = [self.header.index(name) for name in names]
        return [tuple(row[i] for i in places) for row in self.rows()]

    @abstractmethod
    def write_part(self, target: Path, rows: Set[int]) -> int:
        """Write the rows of those numbers (from 0) as they are, in order; returns how many."""

    @abstractmethod
    def write_chosen(self, target: Path, columns: Sequence[str], rows: Sequence[int]) -> None:
        """Write some columns (missing ones are left empty) of those rows, in that order."""


@dataclass(frozen=True)
class Table(Rows):
    """A text table on disk: its header and how its cells are separated. Bytes that are not UTF-8 survive."""

    delimiter: str = ","

    def rows(self) -> Iterator[list[str]]:
        """Yield each row below the header as cells; blank lines are skipped.

        Raises UnsupportedLayout: a row has more or fewer cells than the header, or cannot be read as CSV.
        """
        width = len(self.header)
        with reading(self.path) as file:
            reader = csv.reader(file, delimiter=self.delimiter)
            try:
                next(reader, None)
                for row in reader:
                    if len(row) == width:
                        yield row
                    elif row:
                        raise UnsupportedLayout(
                            f"{self.path.name}, line {reader.line_num}: {len(row)} cells, but the header has {width}."
                        )
            except csv.Error as error:
                raise UnsupportedLayout(f"{self.path.name}, line {reader.line_num}: {error}.") from error

    def write_part(self, target: Path, rows: Set[int]) -> int:
        """Write the rows of those numbers (from 0) as they are, in order; returns how many."""
        part = (row for number, row in enumerate(self.rows()) if number in rows)
        return write_table(target, self.header, part, self.delimiter)

    def write_chosen(self, target: Path, columns: Sequence[str], rows: Sequence[int]) -> None:
        """Write some columns (missing ones are left empty) of those rows, in that order."""
        # Missing columns have no place; of equal names the first counts.
        free = {column: [place for place, name in enumerate(self.header) if name == column] for column in columns}
        places = [free[column].pop(0) if free[column] else None for column in columns]
        row_numbers = set(rows)
        cells = {
            number: ["" if place is None else row[place] for place in places]
            for number, row in enumerate(self.rows())
            if number in row_numbers
        }
        write_table(target, columns, (cells[number] for number in rows), self.delimiter)


def read_table(path: Path) -> Table:
    """Open a table; unless its suffix means tabs, the delimiter is the one that splits the header into the most cells.

    Raises UnsupportedLayout: the file is empty or its first line cannot be read as a header.
    """
    # Long texts are legal cells; the limit is the csv module's own and cannot be set per reader.
    csv.field_size_limit(2**31 - 1)
    best: tuple[list[str], str] = ([], ",")
    for delimiter in _TAB if kind_of(path) in _TAB_SUFFIXES else _DELIMITERS:
        with reading(path) as file:
            try:
                header = next(csv.reader(file, delimiter=delimiter), [])
            except csv.Error as error:
                raise UnsupportedLayout(f"{path.name} cannot be read as CSV: {error}.") from error
        if len(header) > len(best[0]):
            best = (header, delimiter)
    if not best[0]:
        raise UnsupportedLayout(f"{path.name} is empty.")
    return Table(path, tuple(best[0]), best[1])


def encode_row(cells: Sequence[str], delimiter: str = ",") -> str:
    """Return a row as a line of CSV.

    Python 3.11's csv writer leaves a lone carriage return unquoted, which readers take for the end of a line.
    """
    if len(cells) == 1 and not cells[0]:
        return '""\n'
    plain = delimiter.join(cells)
    if plain.count(delimiter) == len(cells) - 1 and not _MUST_QUOTE.search(plain):
        return plain + "\n"
    return delimiter.join(_encode(cell, delimiter) for cell in cells) + "\n"


def _encode(cell: str, delimiter: str) -> str:
    if delimiter in cell or _MUST_QUOTE.search(cell):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]], delimiter: str = ",") -> int:
    """Write a table as UTF-8 (other bytes as they were read) and return the number of rows."""
    count = 0
    with writing(path) as file:
        file.write(encode_row(header, delimiter))
        for row in rows:
            file.write(encode_row(row, delimiter))
            count += 1
    return count
