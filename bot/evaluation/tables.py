"""CSV tables as text: rows are read and written without changing the text of any cell."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from state.errors import UnsupportedLayout

_DELIMITERS = (",", "\t", ";", "|")
_TAB, _TAB_SUFFIXES = ("\t",), frozenset({".tsv", ".tab"})
_MUST_QUOTE = re.compile(r'["\r\n]')


@dataclass(frozen=True)
class Table:
    """A text table on disk: its header and how its cells are separated. Bytes that are not UTF-8 survive."""

    path: Path
    header: tuple[str, ...]
    delimiter: str = ","

    def rows(self) -> Iterator[list[str]]:
        """Yield each row below the header as cells; blank lines are skipped.

        Raises:
            UnsupportedLayout: a row has more or fewer cells than the header, or cannot be read as CSV.
        """
        width = len(self.header)
        with self.path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            reader = csv.reader(file, delimiter=self.delimiter)
            try:
                next(reader, None)
                for row in reader:
                    if len(row) == width:
                        yield row
                    elif row:
                        raise UnsupportedLayout(
                            f"{self.path.name}, line {reader.line_num}: {len(row)} cells where the header has {width}."
                        )
            except csv.Error as error:
                raise UnsupportedLayout(f"{self.path.name}, line {reader.line_num}: {error}.") from error

    def column(self, name: str) -> list[str]:
        """Return one column's cells.

        Raises:
            UnsupportedLayout: there is no such column.
        """
        if name not in self.header:
            raise UnsupportedLayout(f"{self.path.name} has no column {name!r}.")
        at = self.header.index(name)
        return [row[at] for row in self.rows()]

    def heads(self, names: Sequence[str], count: int | None) -> dict[str, list[str]]:
        """Return the first cells (all, if None) of some columns (they must exist), by column."""
        at = [self.header.index(name) for name in names]
        cells: list[list[str]] = [[] for _ in at]
        for row in islice(self.rows(), count) if at else ():
            for column, place in zip(cells, at, strict=True):
                column.append(row[place])
        return dict(zip(names, cells, strict=True))

    def columns(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """Return some columns (all must exist) as one tuple a row."""
        at = [self.header.index(name) for name in names]
        return [tuple(row[i] for i in at) for row in self.rows()]


def read_table(path: Path) -> Table:
    """Open a table; unless its suffix says tab, the delimiter is the one that splits the header into the most cells.

    Raises:
        UnsupportedLayout: the file is empty or its first line cannot be read as a header.
    """
    # Long texts are legal cells; the limit is the csv module's own and cannot be set per reader.
    csv.field_size_limit(2**31 - 1)
    best: tuple[list[str], str] = ([], ",")
    for delimiter in _TAB if path.suffix.lower() in _TAB_SUFFIXES else _DELIMITERS:
        with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
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
    with path.open("w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        file.write(encode_row(header, delimiter))
        for row in rows:
            file.write(encode_row(row, delimiter))
            count += 1
    return count
