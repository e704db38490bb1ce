"""Laws of standings: they hold for every board, every tie and both directions."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.evaluation.answers import board as formulas
from bot.leaderboard.board import Board, BoardParts, Place, SiteSubmission
from bot.leaderboard.rank import Standing, is_far, leaderboard_moved, team_standing

AT = datetime(2020, 1, 1, tzinfo=UTC)
SCORES = st.integers(-20, 20).map(lambda score: score / 8)
"""Few enough that many are equal."""
FIELDS = st.lists(SCORES | st.none(), max_size=300)


def board_of(scores: list[float | None], *, lower_is_better: bool) -> tuple[Board, list[float | None]]:
    """Return a board of these, the best first and those without a score last."""
    known = sorted((score for score in scores if score is not None), reverse=not lower_is_better)
    ordered = [*known, *[None] * (len(scores) - len(known))]
    places = tuple(Place(str(index), f"t{index}", score) for index, score in enumerate(ordered))
    return Board(places, True, False, AT, AT, None, 0, BoardParts("x")), ordered


def stand(scores: list[float | None], own: int, *, lower_is_better: bool) -> Standing:
    board, ordered = board_of(scores, lower_is_better=lower_is_better)
    ours = [SiteSubmission("1", "", "", ordered[own], None, f"t{own}")]
    return team_standing("wine", AT, board, ours, own, None, lower_is_better=lower_is_better)


@st.composite
def fields(draw: st.DrawFn) -> tuple[list[float | None], int]:
    scores = draw(FIELDS.filter(bool))
    return scores, draw(st.integers(0, len(scores) - 1))


@given(fields(), st.booleans())
def test_a_standing_is_what_its_rank_is_worth(field: tuple[list[float | None], int], lower: bool) -> None:
    scores, own = field
    found = stand(scores, own, lower_is_better=lower)
    assert found.rank == own + 1
    assert found.teams == len(scores)
    assert found.medal == formulas.medal_at(own + 1, len(scores))


@pytest.mark.integration
@given(fields())
def test_the_two_directions_are_mirrors_of_each_other(field: tuple[list[float | None], int]) -> None:
    scores, own = field
    one = stand(scores, own, lower_is_better=True)
    other = stand([None if score is None else -score for score in scores], own, lower_is_better=False)
    same: Any = lambda s: (s.rank, s.medal)  # noqa: E731
    assert same(one) == same(other)
    assert {name: -score for name, score in one.lines.items()} == dict(other.lines)


@pytest.mark.integration
@given(st.lists(st.floats(-9, 9), min_size=1, max_size=300, unique=True), st.data(), st.booleans())
def test_without_ties_a_rank_is_worth_what_the_score_is_by_the_thresholds(scores, data, lower) -> None:
    own = data.draw(st.integers(0, len(scores) - 1))
    ordered = sorted(scores, reverse=not lower)
    by_score = formulas.standing(ordered, ordered[own], lower_is_better=lower)
    medal = stand(list(scores), own, lower_is_better=lower).medal
    assert [by_score.gold_medal, by_score.silver_medal, by_score.bronze_medal] == [medal == m for m in formulas.MEDALS]


@given(st.integers(1, 5000), st.integers(1, 5000))
def test_how_far_a_rank_is_does_not_depend_on_the_way(one: int, other: int) -> None:
    assert is_far(one, other) == is_far(other, one)
    assert not is_far(one, one)
    assert is_far(one, one + one)


def standing(rank: int | None, *, private: bool = False, teams: int = 100, **others: float) -> Standing:
    medal = formulas.medal_at(rank, teams) if rank else None
    return Standing("wine", AT, True, private, rank, teams, 0.4, medal, others=others)


@pytest.mark.parametrize(
    ("before", "after", "moved"),
    [
        (standing(31), standing(31), False),
        (standing(31), standing(33), False),
        (standing(31), standing(35), True),
        (standing(40), standing(41), True),
        (standing(41), standing(40), False),
        (standing(90), standing(50), False),
        (standing(None), standing(90), False),
        (standing(90), standing(None), False),
        (standing(50, first=0.2, gold=0.3, median=0.5), standing(50, first=0.19, gold=0.3, median=0.5), False),
        (standing(50, first=0.2, gold=0.3, median=0.5), standing(50, first=0.2, gold=0.27, median=0.5), True),
        (standing(50, first=0.2, gold=0.3, median=0.5), standing(50, first=0.2, gold=0.32, median=0.5), False),
        (standing(50, first=0.2, gold=0.3, median=0.5), standing(90, first=0.1, private=True), False),
        (standing(50, first=0.2), standing(50, first=0.1), False),
    ],
)
def test_what_is_reason_to_try_something_else(before: Standing, after: Standing, moved: bool) -> None:
    assert leaderboard_moved(before, after) is moved
