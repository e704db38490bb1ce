"""Tests of what a leaderboard's order shows."""

import pytest

from scrapers.kaggle.card.board import read_order


@pytest.mark.parametrize(
    ("scores", "direction"),
    [
        (("0.1", "0.1", "0.3"), "minimize"),
        (("0.9", "0.8"), "maximize"),
        (("", "1e-3", "nan", " 0.5 ", "inf"), "minimize"),
        (("-0.2", "-0.4"), "maximize"),
        (("0.1", "0.3", "0.2"), None),
        (("0.5", "0.50", "0.5000"), None),
        (("0.5",), None),
        (("--",), None),
        ((), None),
    ],
)
def test_the_order_shows_a_direction_or_none(scores: tuple[str, ...], direction: str | None) -> None:
    assert read_order(scores).direction == direction


def test_why_there_is_no_direction_is_said() -> None:
    told = [read_order(scores).says for scores in ((), ("1", "1"), ("1", "3", "2"))]
    assert told == [
        "the leaderboard is empty",
        "all scores of the leaderboard are equal",
        "the leaderboard is in no order of its scores",
    ]
