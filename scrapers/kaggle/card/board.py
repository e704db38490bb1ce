"""Which direction a leaderboard's order shows: it has the best first."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from scrapers.snapshots.card import Direction
from scrapers.snapshots.tables import finite_number


@dataclass(frozen=True)
class BoardReading:
    """What scores in a board's order show."""

    direction: Direction | None
    """None: it shows none, for the reason in `description`."""
    low: float | None
    high: float | None
    description: str
    """In words for a person."""


def read_order(scores: Sequence[str]) -> BoardReading:
    """Read the scores of a leaderboard, best first, as Kaggle writes them; what is no finite number is passed over."""
    numbers = [number for score in scores if (number := finite_number(score)) is not None]
    if not numbers:
        return BoardReading(None, None, None, "the leaderboard is empty")
    low, high = min(numbers), max(numbers)
    if low == high:
        return BoardReading(None, low, high, "all leaderboard scores are equal")
    if all(first <= second for first, second in pairwise(numbers)):
        return BoardReading("minimize", low, high, f"leaderboard scores rise from {numbers[0]:g} to {numbers[-1]:g}")
    if all(first >= second for first, second in pairwise(numbers)):
        return BoardReading("maximize", low, high, f"leaderboard scores fall from {numbers[0]:g} to {numbers[-1]:g}")
    return BoardReading(None, low, high, "the leaderboard is not sorted by score")
