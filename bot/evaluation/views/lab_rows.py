"""Draws a lab's validation rows: about a tenth of the labelled rows, in two halves that are asked for as one."""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bot.evaluation.views.strata import Part
from bot.evaluation.views.timeline import time_blocks

FEWEST_OF_CLASS = 10
"""A class with fewer rows than this stays in train: its rows teach more than they could tell."""
LEAST_GROUPS = 4
"""Groups in each half below which a half says little of groups that are new."""
_SHARE, _MOST_SHARE = 0.10, 0.12
_FEWEST, _MAX_ROWS = 100, 10_000
_BLOCKS = 10
"""Blocks of the latest rows that belong to one half and the other in turn."""
_HALVES: tuple[Part, Part] = ("final", "holdout")

DrawnUnits = list[tuple[Sequence[int], Part]]
"""Units of rows that are withheld, and the half of each."""


@dataclass(frozen=True)
class Budget:
    """How many rows are withheld."""

    target: int
    maximum: int
    """What one row of each class, or whole groups, may come to."""

    @classmethod
    def for_rows(cls, rows: int) -> "Budget":
        """Return the budget for so many rows with labels."""
        max_rows = max(2, min(int(_MOST_SHARE * rows), _MAX_ROWS))
        return cls(min(max_rows, max(_FEWEST, round(_SHARE * rows))), max_rows)


def draw_units(
    strata: Sequence[Sequence[Sequence[int]]], size: Callable[[Sequence[int]], int], budget: Budget, min_units: int
) -> DrawnUnits:
    """Draw units of each stratum for both halves, in the order given.

    Each stratum has `min_units` units in each half as long as `most` rows allow it; more come from all strata alike, up to what
    is wanted. A unit that does not fit is passed over. A stratum holds units of rows that stay together; `size` returns how
    many rows of a unit may be asked for.
    """
    deck = [
        ((0.0, place) if place < 2 * min_units else (1.0, (place + 0.5) / len(units)), stratum, unit)
        for stratum, units in enumerate(strata)
        for place, unit in enumerate(units)
    ]
    sizes, of_stratum, drawn_units = Counter[Part](), Counter[tuple[Part, int]](), list[tuple[Sequence[int], Part]]()
    for (later, _), stratum, unit in sorted(deck, key=lambda card: card[0]):
        limit, rows = budget.target if later else budget.maximum, size(unit)
        halves = sorted(_HALVES, key=lambda half: (of_stratum[half, stratum], sizes[half]))
        half = next((half for half in halves if sizes[half] + rows <= (limit + 1) // 2), None)
        if half is not None and sizes.total() + rows <= limit:
            sizes[half] += rows
            of_stratum[half, stratum] += 1
            drawn_units.append((unit, half))
    return drawn_units


def draw_groups(groups: Sequence[Sequence[int]], size: Callable[[Sequence[int]], int], budget: Budget) -> DrawnUnits:
    """Draw whole groups, `LEAST_GROUPS` for each half where the rows allow it, if need be of the smallest."""
    drawn_units: DrawnUnits = []
    for order in (list(groups), sorted(groups, key=size)):
        drawn_units = draw_units([order], size, budget, LEAST_GROUPS)
        if min(count_halves(drawn_units)) >= LEAST_GROUPS:
            break
    return drawn_units


def count_halves(drawn_units: DrawnUnits) -> tuple[int, int]:
    """Return how many units each half has."""
    counts = Counter(half for _, half in drawn_units)
    return counts["final"], counts["holdout"]


def add_smallest(
    drawn_units: DrawnUnits, units: Sequence[Sequence[int]], size: Callable[[Sequence[int]], int]
) -> DrawnUnits:
    """Give a half that no unit fitted into the smallest unit that is left, as without it nothing could be scored."""
    firsts = {unit[0] for unit, _ in drawn_units}
    free_units = sorted((unit for unit in units if unit[0] not in firsts), key=size)
    empty_halves = [half for half, count in zip(_HALVES, count_halves(drawn_units), strict=True) if not count]
    return drawn_units + [(unit, half) for unit, half in zip(free_units, empty_halves, strict=False)]


def draw_latest(
    stretches: Sequence[Sequence[int]], times: Sequence[float], budget: Budget, rng: random.Random
) -> dict[int, Part]:
    """Draw the latest rows of each stretch of time, in blocks of the two halves in turn; equal times stay together.

    Too few times for blocks are shared out row by row: both halves are withheld, so that neither tells of the other.
    Stretches hold rows with labels, the earliest first.
    """
    rows, before, tails = sum(map(len, stretches)), 0, list[list[int]]()
    for stretch in stretches:
        before += len(stretch)
        row_count = sum(map(len, tails))
        more_rows, max_more = (round(limit * before / rows) - row_count for limit in (budget.target, budget.maximum))
        tails.append(list(_tail(stretch, times, more_rows, max_more)))
    if not any(tails):
        # All rows of the latest time are more than may be withheld.
        latest = max(times[row] for row in stretches[-1])
        last = [row for row in stretches[-1] if times[row] == latest]
        tails = [rng.sample(last, min(budget.target, len(last)))]
    # With several stretches an odd number of blocks, lest each half have the same part of every stretch.
    blocks = _BLOCKS if len(tails) == 1 else max(1, _BLOCKS // len(tails)) | 1
    part_of: dict[int, Part] = {}
    for number, tail in enumerate(tails):
        first = number * blocks
        part_of |= {row: _HALVES[(first + block) % 2] for row, block in time_blocks(tail, times, blocks)}
    if len(set(part_of.values())) < len(_HALVES):
        shared = sorted(part_of)
        rng.shuffle(shared)
        part_of = {row: _HALVES[place % 2] for place, row in enumerate(shared)}
    return part_of


def _tail(stretch: Sequence[int], times: Sequence[float], row_count: int, max_rows: int) -> Iterator[int]:
    """Yield the rows of the latest times: as many as are wanted, and no time that would make them too many."""
    per_time, drawn_count = Counter(times[row] for row in stretch), 0
    first = float("inf")
    for time in sorted(per_time, reverse=True):
        if drawn_count >= row_count or drawn_count + per_time[time] > max_rows:
            break
        drawn_count, first = drawn_count + per_time[time], time
    yield from (row for row in stretch if times[row] >= first)
