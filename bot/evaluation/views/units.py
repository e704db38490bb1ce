"""Which training rows stay on one side of a split: those of one id or group, and as many that are alike as the test shows."""

import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from bot.evaluation.layouts.layout import Layout
from bot.evaluation.views.similar_rows import RowSimilarity
from bot.evaluation.views.strata import rows_by

LEAST_APART, ERRORS = 0.1, 3.0
"""Shares of rows like training rows differ between test and withheld rows by so much, and by so many standard errors."""


@dataclass(frozen=True)
class Units:
    """The unit of each training row (the number of its first row), and how many rows were joined for being alike."""

    unit_of_row: tuple[int, ...]
    joined: int = 0

    def rows(self, subset: Sequence[int]) -> list[list[int]]:
        """Group some rows by their units, in order."""
        return list(rows_by(subset, self.unit_of_row.__getitem__).values())


class Joining:
    """Joins rows to units (a union-find)."""

    def __init__(self, rows: int) -> None:
        self._first = list(range(rows))
        self._size = [1] * rows

    def unit(self, row: int) -> int:
        """Return the first row of a row's unit."""
        while self._first[row] != row:
            self._first[row] = self._first[self._first[row]]
            row = self._first[row]
        return row

    def join(self, rows: Sequence[int], max_rows: int) -> bool:
        """Put rows into one unit, unless it became larger than `max_rows` rows; return whether they are in one."""
        units = {self.unit(row) for row in rows}
        if len(units) > 1 and sum(self._size[unit] for unit in units) > max_rows:
            return False
        first = min(units)
        for unit in units - {first}:
            self._first[unit] = first
            self._size[first] += self._size[unit]
        return True


def units_of(
    layout: Layout,
    labelled: Sequence[int],
    similarities: Sequence[RowSimilarity],
    groups: Sequence[str] | None,
    shares: tuple[float, float],
    rng: random.Random,
) -> Units:
    """Join rows of one id and of one group, and rows alike so that withheld rows are like training rows as test rows are.

    Of rows drawn one by one a known share would be like training rows. If fewer of the test rows are, or none, that part of
    the rows alike, or all, stay together; if it is not known how many are, all do. Only scored rows, which have labels, are
    joined for being alike; `groups` has the group of each training row if whole groups are withheld. No unit of rows alike is
    larger than the smaller of the shares that are withheld.
    """
    rows, max_rows = len(layout.ids), round(len(labelled) * min(shares))
    joining, joined = Joining(rows), 0
    for keys in (layout.groups, groups):
        for members in _clusters(keys or (), range(rows if keys else 0)):
            joining.join(members, rows)
    for likeness in similarities:
        clusters = _clusters(likeness.keys, labelled)
        by_chance = [len(members) * (1 - sum(shares) ** (len(members) - 1)) for members in clusters]
        known_count = sum(likeness.keys[row] is not None for row in labelled)
        excess_pairs = sum(by_chance) - (likeness.in_test or 0.0) * known_count
        order = list(range(len(clusters)))
        rng.shuffle(order)
        for cluster in order:
            if excess_pairs < by_chance[cluster] / 2:
                continue
            excess_pairs -= by_chance[cluster]
            joined += len(clusters[cluster]) if joining.join(clusters[cluster], max_rows) else 0
    return Units(tuple(map(joining.unit, range(rows))), joined)


def _clusters(keys: Sequence[Hashable], rows: Sequence[int]) -> list[list[int]]:
    """Return the rows of each key that several have."""
    members_by_key = rows_by((row for row in rows if keys[row] is not None), keys.__getitem__)
    return [members for members in members_by_key.values() if len(members) > 1]


def unlike_test(similarities: Sequence[RowSimilarity], train: Sequence[int], withheld: Sequence[int]) -> list[str]:
    """Return in sentences where withheld rows are like training rows more often, or more seldom, than test rows are."""
    sentences = []
    for likeness in similarities:
        train_keys, keys = {likeness.keys[row] for row in train}, [likeness.keys[row] for row in withheld]
        keys, rows, tested = [key for key in keys if key is not None], likeness.test_rows, likeness.in_test
        if tested is None or not keys:
            continue
        share = sum(key in train_keys for key in keys) / len(keys)
        pooled_share = (share * len(keys) + tested * rows) / (len(keys) + rows)
        error = (pooled_share * (1 - pooled_share) * (1 / len(keys) + 1 / rows)) ** 0.5
        if abs(share - tested) > max(LEAST_APART, ERRORS * error):
            kind = "better" if share > tested else "worse"
            sentences.append(
                f"{share:.1%} of the withheld rows {likeness.kind}, but {tested:.1%} of the test rows do: "
                f"the score may be {kind} than on the test rows"
            )
    return sentences
