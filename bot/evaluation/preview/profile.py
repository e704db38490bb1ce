"""Profiles the columns of a table on its first rows: what kind each is by what its cells look like, and what it holds."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from bot.evaluation.tables.csv_table import Rows
from scrapers.snapshots.tables import read_number
from scrapers.snapshots.times import parse_times

_ROWS, _CELLS, _CHARACTERS = 50_000, 600_000, 50_000_000
_EXAMPLE = 60
_MISSING = frozenset({"", "nan", "na", "null", "none", "n/a", "<na>", "#n/a"})
_FIRST_OF_MISSING = frozenset(" \t\r\n\f\v\xa0\u3000nN<#")
_INTEGER = re.compile(r"\s*[+-]?(?:0|[1-9][0-9]*)\s*")
_CODE = re.compile(r"\s*0[0-9]+\s*")
"""Digits that are no number, as whoever wrote them kept the zeros in front."""

Kind = Literal["integer", "number", "time", "text", "empty"]


@dataclass(frozen=True)
class Column:
    """What one column holds, among the rows that were read."""

    name: str
    kind: Kind
    values: Counter[str]
    """Cells that are not missing, and how often."""
    numbers: tuple[float, ...]
    """The same as numbers, row by row, if it holds numbers; infinite ones are left out."""
    markers: Counter[str]
    """What is written where a value is missing, and how often."""
    coded: bool = False
    """Whether its texts are digits, some with zeros in front."""
    span: tuple[str, str] | None = None
    """The first and the last time, as they are written, if it holds times."""

    @property
    def missing(self) -> int:
        """How many cells are missing."""
        return self.markers.total()

    @property
    def rows(self) -> int:
        """How many rows were read."""
        return self.values.total() + self.missing


def is_missing(cell: str) -> bool:
    """Return whether a cell holds nothing, or one of the words for it."""
    # The first character tells of most cells that they are not, which is quicker.
    return not cell or (cell[0] in _FIRST_OF_MISSING and cell.strip().lower() in _MISSING)


def profile(table: Rows) -> tuple[list[Column], bool]:
    """Profile each column of a table on its first rows; also returns whether these are all."""
    limit = min(_ROWS, max(100, _CELLS // len(table.header)))
    tail = table.rows()
    rows = list(_within(islice(tail, limit), _CHARACTERS))
    cells = zip(*rows, strict=True) if rows else [()] * len(table.header)
    return [_column(name, column) for name, column in zip(table.header, cells, strict=True)], next(tail, None) is None


def _within(rows: Iterator[list[str]], characters: int) -> Iterator[list[str]]:
    """Yield rows until that much text has been read."""
    for row in rows:
        yield row
        characters -= sum(map(len, row))
        if characters < 0:
            return


def _column(name: str, cells: Sequence[str]) -> Column:
    values = Counter(cells)
    markers = Counter({cell: count for cell, count in values.items() if is_missing(cell)})
    for cell in markers:
        del values[cell]
    if not values:
        return Column(name, "empty", values, (), markers)
    coded = all(cell.strip().isdigit() for cell in values) and any(map(_CODE.fullmatch, values))
    numbers = {cell: read_number(cell) for cell in values}
    if not coded and None not in numbers.values():
        kind: Kind = "integer" if all(map(_INTEGER.fullmatch, values)) else "number"
        finite = {cell: n for cell, n in numbers.items() if n is not None and math.isfinite(n)}
        return Column(name, kind, values, tuple([finite[cell] for cell in cells if cell in finite]), markers)
    if (times := parse_times(list(values))) is None:
        return Column(name, "text", values, (), markers, coded)
    in_order = sorted(zip(times, values, strict=True))
    return Column(name, "time", values, (), markers, span=(in_order[0][1], in_order[-1][1]))


def by_count(counts: Counter[str]) -> list[tuple[str, int]]:
    """Return values by falling count, equal ones by name."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def join_some(texts: Sequence[str], limit: int, separator: str = ", ") -> str:
    """Return the first of some texts, and how many more there are."""
    rest_words = f" and {len(texts) - limit} more" if len(texts) > limit else ""
    return separator.join(texts[:limit]) + rest_words


def clean(text: str, longest: int = _EXAMPLE) -> str:
    """Return text on one line, short, with bytes that are not UTF-8 replaced."""
    short = text if len(text) <= longest else f"{text[:longest]}…"
    return " ".join(short.encode("utf-8", "surrogateescape").decode("utf-8", "replace").split())
