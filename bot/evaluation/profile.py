"""Describes the columns of a table in a line each; wide tables in a line for each run of like columns."""

import math
import re
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Literal

from bot.evaluation.tables import Rows
from bot.evaluation.timeline import parse_times

_ROWS, _CELLS, _CHARACTERS = 50_000, 2_000_000, 50_000_000
_EXAMPLE = 60
_FEW_VALUES = 8
_RUN = 4
"""So many like columns in a row, or more, are described together."""
_WIDE = 24
"""Tables with more lines than this group columns by kind as well."""
_MISSING = frozenset({"", "nan", "na", "null", "none", "n/a"})
_NUMBERED = re.compile(r"^(.*?)(\d+)$")

Kind = Literal["integer", "number", "time", "text", "empty"]


@dataclass(frozen=True)
class Column:
    """What one column holds, among the rows that were read."""

    name: str
    kind: Kind
    values: Counter[str]
    """Cells that are not missing, and how often."""
    numbers: tuple[float, ...]
    """The same as numbers, row by row, if it holds numbers."""
    missing: int


def profile(table: Rows) -> tuple[list[Column], int]:
    """Profile each column of a table on its first rows; also returns how many rows were read."""
    limit = min(_ROWS, max(100, _CELLS // len(table.header)))
    rows = list(_within(islice(table.rows(), limit), _CHARACTERS))
    cells = zip(*rows, strict=True) if rows else [()] * len(table.header)
    return [_column(name, column) for name, column in zip(table.header, cells, strict=True)], len(rows)


def _within(rows: Iterator[list[str]], characters: int) -> Iterator[list[str]]:
    """Yield rows until that much text has been read."""
    for row in rows:
        yield row
        characters -= sum(map(len, row))
        if characters < 0:
            return


def _column(name: str, cells: Sequence[str]) -> Column:
    present = [cell for cell in cells if cell.strip().lower() not in _MISSING]
    values = Counter(present)
    missing = len(cells) - len(present)
    numbers = _numbers(present)
    if not present:
        return Column(name, "empty", values, (), missing)
    if numbers is not None:
        whole = all(number.is_integer() for number in numbers) and not any("." in cell for cell in values)
        return Column(name, "integer" if whole else "number", values, numbers, missing)
    is_time = parse_times(list(values)) is not None
    return Column(name, "time" if is_time else "text", values, (), missing)


def _numbers(cells: Sequence[str]) -> tuple[float, ...] | None:
    try:
        numbers = tuple(float(cell) for cell in cells)
    except ValueError:
        return None
    return numbers if all(map(math.isfinite, numbers)) else None


def column_lines(columns: Sequence[Column]) -> list[str]:
    """Describe columns, numbered runs such as margin1 to margin64 together, and in wide tables any run of a kind."""
    runs = [list(run) for _, run in groupby(columns, key=_numbered_stem)]
    if sum(1 if _is_run(run) else len(run) for run in runs) > _WIDE:
        runs = [list(run) for _, run in groupby(columns, key=lambda column: (_numbered_stem(column)[0], column.kind))]
        if sum(1 if len(run) >= _RUN else len(run) for run in runs) > _WIDE:
            runs = [list(run) for _, run in groupby(columns, key=lambda column: column.kind)]
    lines: list[str] = []
    for run in runs:
        lines += [_run_line(run)] if len(run) >= _RUN and (_is_run(run) or len(columns) > _WIDE) else map(_line, run)
    return lines


def _numbered_stem(column: Column) -> tuple[str, Kind]:
    match = _NUMBERED.match(column.name)
    return (match[1] if match else f"\x00{column.name}", column.kind)


def _is_run(run: Sequence[Column]) -> bool:
    return len(run) >= _RUN and len({_numbered_stem(column) for column in run}) == 1


def _run_line(run: Sequence[Column]) -> str:
    numbers = [number for column in run for number in column.numbers]
    extent = f", {min(numbers):g} to {max(numbers):g}" if numbers else ""
    missing = sum(column.missing for column in run)
    return (
        f"{clean(run[0].name)} … {clean(run[-1].name)} ({len(run)} columns): {run[0].kind}{extent}"
        f"{f', {missing:,} cells missing' if missing else ''}"
    )


def _line(column: Column) -> str:
    missing = f", {column.missing:,} missing" if column.missing else ""
    return f"{clean(column.name)}: {_content(column)}{missing}"


def _content(column: Column) -> str:
    distinct = f"{len(column.values):,} distinct"
    if column.kind == "empty":
        return "empty"
    if len(column.values) <= _FEW_VALUES:
        shown = ", ".join(f"{clean(value)!r} × {count:,}" for value, count in ordered(column.values))
        return f"{column.kind}, {shown}"
    if column.numbers:
        middle = statistics.median(column.numbers)
        return f"{column.kind}, {min(column.numbers):g} to {max(column.numbers):g}, median {middle:g}, {distinct}"
    examples = ", ".join(repr(clean(value)) for value in islice(column.values, 2))
    if column.kind == "time":
        return f"time, {clean(min(column.values))} to {clean(max(column.values))}, {distinct}"
    lengths = [len(value) for value in column.values]
    extent = f"{min(lengths):,} to {max(lengths):,}" if min(lengths) < max(lengths) else f"{lengths[0]:,}"
    return f"text of {extent} characters, {distinct}, e.g. {examples}"


def target_line(column: Column) -> str:
    """Describe a target: the count of each class, or the distribution of a quantity."""
    counts = column.values
    if column.numbers and len(counts) > 20:
        tenths = statistics.quantiles(column.numbers, n=10, method="inclusive")
        points = (min(column.numbers), tenths[0], tenths[4], tenths[8], max(column.numbers))
        spread = ", ".join(
            f"{name} {value:g}" for name, value in zip(("min", "10%", "median", "90%", "max"), points, strict=True)
        )
        return f"{clean(column.name)}: {column.kind}, {spread}, mean {statistics.fmean(column.numbers):g}"
    if len(counts) > 20:
        sizes = counts.values()
        few = ", ".join(clean(value) for value, _ in ordered(counts)[:5])
        return f"{clean(column.name)}: {len(counts)} classes of {min(sizes)} to {max(sizes)} rows, e.g. {few}"
    total = counts.total() or 1
    shares = ", ".join(f"{clean(value)} {count:,} ({count / total:.1%})" for value, count in ordered(counts))
    return f"{clean(column.name)}: {len(counts)} values: {shares}"


def ordered(counts: Counter[str]) -> list[tuple[str, int]]:
    """Return values by falling count, equal ones by name."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def clean(text: str) -> str:
    """Return text on one line, short, with bytes that are not UTF-8 replaced."""
    short = text if len(text) <= _EXAMPLE else f"{text[:_EXAMPLE]}…"
    return " ".join(short.encode("utf-8", "surrogateescape").decode("utf-8", "replace").split())
