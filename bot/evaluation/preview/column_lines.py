"""Describes profiled columns in a line each; in wide tables, numbers in a line for each run of like columns."""

import math
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, groupby, islice

from bot.evaluation.preview.profile import Column, Kind, by_count, clean, join_some

_SHARE, _FEWEST = 0.005, 5
"""A value that stands apart is in at least this share of the rows, and in so many."""
_ZERO_APART, _FAR_APART = 0.08, 0.5
"""How far zero, or any other value, is from the nearest one, over the range of all others."""
_DISTINCT = 15
_MOST_SUMMED = 6
_NAMES = 10
_FEW_VALUES = 8
_CLASSES = 20
_RUN = 4
"""So many like columns in a row, or more, are described together."""
_WIDE = 24
"""Tables with more lines than this group columns by kind as well."""
_TEXTS = 16
"""So many columns of text, or fewer, have a line each in any table."""
_FEW_TEXTS = 4
"""With more columns of text each shows one short example, not two longer ones."""
_LONG = 160
_NUMBERED_NAME = re.compile(r"^(.*?)(\d+)$")
_OFTEN = 0.05
_SHORT = 30
_TIED = 0.5
"""Distinct values over rows below which a quantity's ties are worth a word."""
_RARE = 10
_A_LINE = 5
"""Targets that share a line where there are many."""


def column_lines(columns: Sequence[Column]) -> list[str]:
    """Describe columns, numbered runs such as margin1 to margin64 together, and in wide tables any run of a kind."""
    texts = [column.name for column in columns if column.kind == "text"]
    single_texts = set(texts if len(texts) <= _TEXTS else ())
    brief = len(texts) <= _FEW_TEXTS
    runs = _runs(columns, lambda column: (column.name if column.name in single_texts else _stem(column), column.kind))
    if sum(1 if len(run) >= _RUN else len(run) for run in runs) > _WIDE:
        run_columns = {column.name for run in runs if len(run) >= _RUN for column in run} | single_texts
        runs = _runs(columns, lambda column: (_stem(column) if column.name in run_columns else "", column.kind))
    lines: list[str] = []
    for run in runs:
        texts_of_run = (f"{clean(column.name)}: {_content(column, brief)}{_missing_note(column)}" for column in run)
        lines += [_run_line(run)] if len(run) >= _RUN else texts_of_run
    return lines


def _runs(columns: Sequence[Column], key: Callable[[Column], tuple[str, Kind]]) -> list[list[Column]]:
    return [list(run) for _, run in groupby(columns, key=key)]


def _stem(column: Column) -> str:
    match = _NUMBERED_NAME.match(column.name)
    return match[1] if match else f"\x00{column.name}"


def _run_line(run: Sequence[Column]) -> str:
    numbers = [number for column in run for number in column.numbers]
    extent = f", {number(min(numbers), run[0].kind)} to {number(max(numbers), run[0].kind)}" if numbers else ""
    counts = [len(column.values) for column in run]
    distinct = f", {_between(min(counts), max(counts))} distinct each"
    missing = sum(column.missing for column in run)
    sample = [column for column in run if column.values][:3] if run[0].kind == "text" else []
    words = ", ".join(f"{clean(column.name, _SHORT)} {clean(next(iter(column.values)), _SHORT)!r}" for column in sample)
    return (
        f"{clean(run[0].name)} … {clean(run[-1].name)} ({len(run)} columns): {run[0].kind}{extent}{distinct}"
        f"{f', {missing:,} cells missing' if missing else ''}{f', e.g. {words}' if words else ''}"
    )


def _missing_note(column: Column) -> str:
    if not column.missing or column.kind == "empty":
        return ""
    words = [repr(clean(cell)) for cell, _ in by_count(column.markers) if cell.strip()]
    written_as = f", written {' or '.join(words[:3])}" if words else ""
    return f"; {column.missing:,} missing ({percent(column.missing, column.rows)}{written_as})"


def _content(column: Column, few: bool = True) -> str:
    kind = "digits with leading zeros, as text" if column.coded else column.kind
    if column.kind == "empty":
        return "empty"
    if len(column.values) <= _FEW_VALUES:
        words = ", ".join(f"{clean(value)!r} × {count:,}" for value, count in by_count(column.values))
        return f"{kind}, {words}"
    distinct = f"{len(column.values):,} distinct"
    if column.numbers:
        low, middle, high = min(column.numbers), statistics.median(column.numbers), max(column.numbers)
        infinite = column.values.total() - len(column.numbers)
        return (
            f"{kind}, {number(low, column.kind)} to {number(high, column.kind)}, median {middle:g}, {distinct}"
            f"{f', {infinite:,} infinite' if infinite else ''}"
        )
    if column.span is not None:
        return f"time, {clean(column.span[0])} to {clean(column.span[1])}, {distinct}"
    lengths = sorted(len(value) for value in column.values.elements())
    middle_length = f", median {lengths[len(lengths) // 2]:,}" if lengths[-1] > lengths[0] + 10 else ""
    words = ", ".join(repr(clean(value, _LONG if few else _SHORT * 2)) for value in islice(column.values, 1 + few))
    most_common = ""
    if len(column.values) * 2 <= column.values.total():
        (value, count), *_ = by_count(column.values)
        most_common = f", most often {clean(value, _SHORT)!r} ({percent(count, column.rows)})"
    extent = _between(lengths[0], lengths[-1])
    unit = "character" if extent == "1" else "characters"
    return f"{kind} of {extent} {unit}{middle_length}, {distinct}{most_common}, e.g. {words}"


def target_lines(columns: Sequence[Column]) -> list[str]:
    """Describe targets: the count of each class, or the distribution of a quantity; many of two values together."""
    hot = [column for column in columns if set(column.values) <= {"0", "1"}]
    if len(hot) < _RUN:
        numbers = [column for column in columns if column.numbers]
        return [*_many_lines(numbers)] if len(numbers) == len(columns) > _RUN else [*map(_target_line, columns)]
    shares = sorted((column.values["1"] / max(1, column.rows), column.name) for column in hot)
    words = [f"{clean(name)} {share:.2%}" for share, name in (*shares[:3], shares[len(shares) // 2], *shares[-2:])]
    constant = [clean(column.name) for column in hot if len(column.values) < 2]
    line = f"{len(hot)} columns of 0s and 1s; share of 1s, rarest first: {', '.join(dict.fromkeys(words))}"
    constant_lines = [f"Constant in these rows: {', '.join(constant[:10])}"] if constant else []
    return [line, *constant_lines, *(_target_line(column) for column in columns if column not in hot)]


def _many_lines(columns: Sequence[Column]) -> Iterator[str]:
    """Describe many targets of numbers: their extent together, and of each how much of it is ties."""
    numbers = [number for column in columns for number in column.numbers]
    counts = [len(column.values) for column in columns]
    yield (
        f"{len(columns)} numeric columns, {min(numbers):g} to {max(numbers):g}, {_between(min(counts), max(counts))} distinct "
        "values each. For each column: number of distinct values, most common value and its share:"
    )
    descriptions = []
    for column in columns:
        value, count = by_count(column.values)[0] if column.values else ("", 0)
        descriptions.append(f"{clean(column.name, _SHORT)} {len(column.values)}, {value} {percent(count, column.rows)}")
    for start in range(0, len(descriptions), _A_LINE):
        yield "; ".join(descriptions[start : start + _A_LINE])


def _target_line(column: Column) -> str:
    counts = column.values
    name = clean(column.name)
    if column.numbers and len(counts) > _CLASSES:
        tenths = statistics.quantiles(column.numbers, n=10, method="inclusive")
        points = (min(column.numbers), tenths[0], tenths[4], tenths[8], max(column.numbers))
        names = ("min", "10%", "median", "90%", "max")
        spread = ", ".join(f"{name} {value:g}" for name, value in zip(names, points, strict=True))
        value, count = by_count(counts)[0]
        often = f", {percent(count, column.rows)} are {value}" if count > _OFTEN * column.rows else ""
        often = f", {len(counts):,} distinct{often}" if len(counts) < _TIED * counts.total() else often
        mean = statistics.fmean(column.numbers)
        return f"{name}: {column.kind}, {spread}, mean {mean:g}{often}{_missing_note(column)}"
    if len(counts) * 2 > counts.total() and len(counts) > _CLASSES:
        return f"{name}: {_content(column)}{_missing_note(column)}"
    if len(counts) > _CLASSES:
        sizes = by_count(counts)
        commonest = ", ".join(f"{clean(value)} {count:,}" for value, count in sizes[:4])
        rare = sum(size < _RARE for _, size in sizes)
        commonest += f"; {rare:,} have fewer than {_RARE} rows" if rare and sizes[0][1] >= _RARE else ""
        rows = _between(sizes[-1][1], sizes[0][1])
        return f"{name}: {len(counts):,} classes with {rows} rows each, e.g. {commonest}{_missing_note(column)}"
    total = counts.total() or 1
    shares = ", ".join(f"{clean(value)} {count:,} ({count / total:.1%})" for value, count in by_count(counts))
    return f"{name}: {len(counts)} values: {shares}{_missing_note(column)}"


def number(value: float, kind: Kind) -> str:
    """Return a number as a column of that kind would hold it."""
    return f"{value:.0f}" if kind == "integer" and abs(value) < 1e15 else f"{value:g}"


def percent(part: int, total: int) -> str:
    """Return a share, with as many digits as it needs."""
    share = part / max(1, total)
    if part in (0, total) or 0.1 <= share < 0.95:
        return f"{share:.0%}"
    return "< 0.1%" if share < 0.001 else "> 99.9%" if share > 0.999 else f"{share:.1%}"


def _between(low: int, high: int) -> str:
    return f"{low:,} to {high:,}" if low < high else f"{low:,}"


def oddity_lines(columns: Sequence[Column]) -> list[str]:
    """Describe what is odd about a table's columns, a line each kind."""
    return [*_constant_lines(columns), *_copy_lines(columns), *_apart_lines(columns)]


def sum_lines(columns: Sequence[Column]) -> Iterator[str]:
    """Say which of a few columns is the sum of two others in every row."""
    candidates = [c for c in columns if c.numbers and len(c.numbers) == c.rows and len(c.values) > 2]
    for sum_column in candidates if len(candidates) <= _MOST_SUMMED else ():
        for first, second in combinations([c for c in candidates if c is not sum_column], 2):
            cells = zip(sum_column.numbers, first.numbers, second.numbers, strict=True)
            if all(math.isclose(total, a + b, rel_tol=1e-6, abs_tol=1e-9) for total, a, b in cells):
                yield f"{clean(sum_column.name)} = {clean(first.name)} + {clean(second.name)} in every row"


def _constant_lines(columns: Sequence[Column]) -> Iterator[str]:
    names = [clean(c.name) for c in columns if c.rows > 1 and len(c.values) + len(c.markers) == 1]
    if names:
        yield f"Constant: {join_some(names, _NAMES)}"


def _copy_lines(columns: Sequence[Column]) -> Iterator[str]:
    first: dict[tuple[float, ...], str] = {}
    copies = []
    for column in columns:
        if len(column.values) > 1 and len(column.numbers) == column.rows:
            original = first.setdefault(column.numbers, column.name)
            if original != column.name:
                copies.append(f"{clean(column.name)} = {clean(original)}")
    if copies:
        yield f"Equal columns: {join_some(copies, _NAMES)}"


def _apart_lines(columns: Sequence[Column]) -> Iterator[str]:
    sentinels = []
    for column in columns:
        counts = Counter(column.numbers)
        if len(counts) < _DISTINCT:
            continue
        values = sorted(counts)
        for value, next_value, far in ((values[0], values[1], values[-1]), (values[-1], values[-2], values[0])):
            spread, often = abs(far - next_value), counts[value]
            far_enough = abs(value - next_value) >= (_FAR_APART if value else _ZERO_APART) * spread
            if spread and far_enough and often >= max(_FEWEST, _SHARE * column.rows):
                sentinels.append(
                    f"{clean(column.name)} is {value:g} in {percent(often, column.rows)} of rows (next value: {next_value:g})"
                )
    if sentinels:
        yield f"Outliers that may stand for missing values: {join_some(sentinels, _NAMES, '; ')}"
