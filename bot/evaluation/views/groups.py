"""Finds a column whose groups of rows were kept together, all of them or many, when test rows were split off."""

import math
import re
from collections import Counter
from collections.abc import Sequence

from bot.evaluation.layouts.layout import NO_LABEL
from bot.evaluation.tables.csv_table import Rows
from scrapers.snapshots.tables import read_number
from scrapers.snapshots.times import parse_times

LIKE_AN_ID = re.compile(r"(?:id|key|code|group|user|name)s?$", re.IGNORECASE)
"""Whole numbers under other names are quantities, of which any may be new."""

_PROBE = 2000
_MEAN_SIZE = 2.0
"""Groups hold at least this many training rows on average."""
FEWEST = 10
"""With fewer groups than this the parts would be too unlike each other."""
_EXPECTED_STRADDLERS = 5.0
"""A random split would have cut at least this many groups; that none is cut is then no accident."""
_NEARLY_ALL = 0.9
_SHARED, _ERRORS = 0.8, 3.0
"""Groups are shared more seldom than by chance below this part of those expected, by at least so many standard errors."""


def disjoint_group_column(train: Rows, test: Rows, candidates: Sequence[str], fewest: int = FEWEST) -> str | None:
    """Return the coarsest column with repeated values, none of them in both tables; None if there is none.

    Candidates are columns that both tables have; training rows are of at least so many groups.
    """
    train_heads, test_heads = train.heads(candidates, _PROBE), test.heads(candidates, _PROBE)
    disjoint = [c for c in candidates if not set(train_heads[c]) & set(test_heads[c])]
    by_size: list[tuple[int, str]] = []
    train_cells, test_cells = train.heads(disjoint, None), test.heads(disjoint, None)
    for column in disjoint:
        train_sizes, test_sizes = Counter(train_cells[column]), Counter(test_cells[column])
        if train_sizes.keys() & test_sizes.keys() or len(train_sizes) < fewest or not test_sizes:
            continue
        if train_sizes.total() / len(train_sizes) < _MEAN_SIZE:
            continue
        # Of few groups a random split would have cut nearly all.
        evidence = min(_EXPECTED_STRADDLERS, _NEARLY_ALL * (len(train_sizes) + len(test_sizes)))
        if _straddlers(train_sizes, test_sizes) >= evidence:
            by_size.append((len(train_sizes), column))
    return min(by_size)[1] if by_size else None


def shared_group_column(train: Rows, test: Rows, candidates: Sequence[str]) -> tuple[str, float, int] | None:
    """Return the column of whose groups both tables share some, but far fewer than if rows had been drawn one by one.

    Candidates are columns that both tables have; of numbers only those count that are named as ids are. With the column come
    the share of test rows whose group has training rows, and how many test rows have a group.
    """
    heads = train.heads(candidates, _PROBE)
    repeating = [c for c in candidates if len(set(heads[c])) < len(heads[c])]
    likely_groups = [c for c in repeating if LIKE_AN_ID.search(c) or _is_text(heads[c])]
    by_excess: list[tuple[float, str, float, int]] = []
    sides = _sizes(train, likely_groups), _sizes(test, likely_groups)
    for column, train_sizes, test_sizes in zip(likely_groups, *sides, strict=True):
        shared = train_sizes.keys() & test_sizes.keys()
        if len(train_sizes) < FEWEST or train_sizes.total() < _MEAN_SIZE * len(train_sizes) or not shared:
            continue
        expected = _straddlers(train_sizes, test_sizes)
        if len(shared) > _SHARED * expected or expected - len(shared) < max(FEWEST, _ERRORS * math.sqrt(expected)):
            continue
        rows = test_sizes.total()
        by_excess.append((len(shared) / expected, column, sum(test_sizes[group] for group in shared) / rows, rows))
    return min(by_excess)[1:] if by_excess else None


def _is_text(cells: Sequence[str]) -> bool:
    return any(read_number(c) is None for c in cells if c.strip().lower() not in NO_LABEL) and not parse_times(cells)


def _sizes(table: Rows, columns: Sequence[str]) -> list[Counter[str]]:
    """Count the rows of each group, those without one left out."""
    places, sizes = [table.header.index(column) for column in columns], [Counter[str]() for _ in columns]
    for row in table.rows() if places else ():
        for place, counter in zip(places, sizes, strict=True):
            counter[row[place]] += 1
    for counter in sizes:
        for cell in [cell for cell in counter if cell.strip().lower() in NO_LABEL]:
            del counter[cell]
    return sizes


def _straddlers(train_sizes: Counter[str], test_sizes: Counter[str]) -> float:
    """Return how many groups would have rows on both sides, had each row been drawn by itself."""
    share = test_sizes.total() / (train_sizes.total() + test_sizes.total())
    return sum(1 - share**size - (1 - share) ** size for size in (train_sizes + test_sizes).values())
