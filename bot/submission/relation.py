"""The relation of validation and public scores: whether what our own scores order the board orders alike."""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["FEWEST", "FLOOR", "Pair", "Relation", "relation_of"]

FEWEST = 6
"""Pairs below which nothing is said: of so few, chance alone makes any correlation."""
FLOOR = 0.3
"""Rank correlation below which validation scores are no guide to the board."""


@dataclass(frozen=True)
class Pair:
    """One submission's two scores, as the metric has them."""

    tag: str
    validation: float
    public: float


@dataclass(frozen=True)
class Relation:
    """How two series of scores hang together."""

    pairs: int
    correlation: float | None
    """Spearman's, ties at their mean rank; None for fewer than two pairs, or where one side is always the same."""
    shift: float | None
    """Median of public minus validation; None without a pair."""
    warning: str | None
    """What to beware of; None: nothing."""


def relation_of(pairs: Sequence[Pair]) -> Relation:
    """Return the relation of all pairs so far."""
    correlation = _spearman([pair.validation for pair in pairs], [pair.public for pair in pairs])
    shifts = sorted(pair.public - pair.validation for pair in pairs)
    middle = (shifts[(len(shifts) - 1) // 2] + shifts[len(shifts) // 2]) / 2 if shifts else None
    warning = None
    if len(pairs) >= FEWEST and (correlation is None or correlation < FLOOR):
        shown = "none" if correlation is None else f"one of {correlation:.2f}"
        warning = (
            f"the validation and public scores of {len(pairs)} submissions should have a rank correlation of at least "
            f"{FLOOR:g}, and have {shown}: what is better here need not be better there"
        )
    return Relation(len(pairs), correlation, middle, warning)


def _spearman(left: Sequence[float], right: Sequence[float]) -> float | None:
    """Return the rank correlation; here without numpy, which the bot's own process never loads."""
    if len(left) < 2:
        return None
    ranks = [_mean_ranks(side) for side in (left, right)]
    middle = (len(left) + 1) / 2
    first, second = ([rank - middle for rank in side] for side in ranks)
    spread = sum(a * a for a in first) * sum(b * b for b in second)
    return None if spread == 0 else sum(a * b for a, b in zip(first, second, strict=True)) / spread**0.5


def _mean_ranks(values: Sequence[float]) -> list[float]:
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for place in order[start:end]:
            ranks[place] = (start + 1 + end) / 2
        start = end
    return ranks
