"""What is odd about columns: constants, copies, values that stand for nothing, sums of each other."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

from bot.evaluation.preview.column_lines import percent
from bot.evaluation.preview.profile import Column, clean, listed

_SHARE, _FEWEST = 0.005, 5
"""A value that stands apart is in at least this share of the rows, and in so many."""
_ZERO_APART, _APART = 0.08, 0.5
"""How far zero, or any other value, is from the nearest one, over the range of all others."""
_DISTINCT = 15
_MOST_SUMMED = 6
_NAMES = 10


def oddity_lines(columns: Sequence[Column]) -> list[str]:
    """Describe what is odd about a table's columns, a line each kind."""
    return [*_constant_lines(columns), *_copy_lines(columns), *_apart_lines(columns)]


def sum_lines(columns: Sequence[Column]) -> Iterator[str]:
    """Say which of a few columns is the sum of two others in every row."""
    few = [c for c in columns if c.numbers and len(c.numbers) == c.rows and len(c.values) > 2]
    for whole in few if len(few) <= _MOST_SUMMED else ():
        for one, other in combinations([c for c in few if c is not whole], 2):
            cells = zip(whole.numbers, one.numbers, other.numbers, strict=True)
            if all(math.isclose(total, left + right, rel_tol=1e-6, abs_tol=1e-9) for total, left, right in cells):
                yield f"{clean(whole.name)} = {clean(one.name)} + {clean(other.name)} in every row"


def _constant_lines(columns: Sequence[Column]) -> Iterator[str]:
    names = [clean(c.name) for c in columns if c.rows > 1 and len(c.values) + len(c.markers) == 1]
    if names:
        yield f"Constant: {listed(names, _NAMES)}"


def _copy_lines(columns: Sequence[Column]) -> Iterator[str]:
    first: dict[tuple[float, ...], str] = {}
    copies = []
    for column in columns:
        if len(column.values) > 1 and len(column.numbers) == column.rows:
            original = first.setdefault(column.numbers, column.name)
            if original != column.name:
                copies.append(f"{clean(column.name)} = {clean(original)}")
    if copies:
        yield f"Equal columns: {listed(copies, _NAMES)}"


def _apart_lines(columns: Sequence[Column]) -> Iterator[str]:
    found = []
    for column in columns:
        counts = Counter(column.numbers)
        if len(counts) < _DISTINCT:
            continue
        ordered = sorted(counts)
        for value, near, far in ((ordered[0], ordered[1], ordered[-1]), (ordered[-1], ordered[-2], ordered[0])):
            rest, often = abs(far - near), counts[value]
            far_enough = abs(value - near) >= (_APART if value else _ZERO_APART) * rest
            if rest and far_enough and often >= max(_FEWEST, _SHARE * column.rows):
                found.append(
                    f"{clean(column.name)} is {value:g} in {percent(often, column.rows)}, else {near:g} or beyond"
                )
    if found:
        yield f"Values that stand apart, and may stand for missing ones: {listed(found, _NAMES, '; ')}"
