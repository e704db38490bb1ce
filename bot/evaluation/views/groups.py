"""Finds a column whose groups of rows were kept together when test rows were split off."""

from collections import Counter
from collections.abc import Sequence

from bot.evaluation.tables.csv_table import Rows

_PROBE = 2000
_MEAN_SIZE = 2.0
"""Groups hold at least this many training rows on average."""
_FEWEST = 10
"""With fewer groups than this the parts would be too unlike each other."""
_EXPECTED_STRADDLERS = 5.0
"""A random split would have cut at least this many groups; that none is cut is then no accident."""


def disjoint_group_column(train: Rows, test: Rows, candidates: Sequence[str]) -> str | None:
    """Return the coarsest column with repeated values, none of them in both tables; None if there is none.

    Args:
        train: the training rows.
        test: the test rows.
        candidates: columns that both tables have.
    """
    train_heads, test_heads = train.heads(candidates, _PROBE), test.heads(candidates, _PROBE)
    left = [c for c in candidates if not set(train_heads[c]) & set(test_heads[c])]
    found: list[tuple[int, str]] = []
    train_cells, test_cells = train.heads(left, None), test.heads(left, None)
    for column in left:
        train_sizes, test_sizes = Counter(train_cells[column]), Counter(test_cells[column])
        if train_sizes.keys() & test_sizes.keys() or len(train_sizes) < _FEWEST or not test_sizes:
            continue
        if train_sizes.total() / len(train_sizes) < _MEAN_SIZE:
            continue
        # How many groups would have rows on both sides, had each row been drawn by itself.
        share = test_sizes.total() / (train_sizes.total() + test_sizes.total())
        sizes = (train_sizes + test_sizes).values()
        if sum(1 - share**size - (1 - share) ** size for size in sizes) >= _EXPECTED_STRADDLERS:
            found.append((len(train_sizes), column))
    return min(found)[1] if found else None
