"""Boards, our submissions and laws of standings, read back from polls."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.evaluation.answers import board as formulas
from bot.leaderboard.board import (
    Board,
    BoardParts,
    Place,
    SiteSubmission,
    best_of,
    number,
    own_place,
    read_board,
    same_score,
    site_submissions,
)
from bot.leaderboard.rank import TeamStanding, is_far, leaderboard_moved, team_standing
from state.series import record_absence
from state.store import Store
from tests.bot.leaderboard.boards import OURS, SLUG, Polls, Row, rows
from tests.state.conftest import START, StandingClock, clock, store

__all__ = ["clock", "store"]


def board(store: Store, *, lower_is_better: bool = True) -> Board:
    with store.read() as session:
        found = read_board(session, SLUG, lower_is_better=lower_is_better)
    assert found is not None
    return found


def names(found: Board) -> list[str]:
    return [place.team for place in found.places]


def test_a_board_that_is_gone_is_none(store: Store) -> None:
    Polls(store).whole(rows([0.1]))
    with store.write() as tx:
        record_absence(tx, SLUG, "board", "whole")
    with store.read() as session:
        assert read_board(session, SLUG, lower_is_better=True) is None


@pytest.mark.parametrize("sign", [1, -1])
def test_a_newer_top_replaces_whoever_was_as_good(store: Store, clock: StandingClock, sign: int) -> None:
    polls = Polls(store)

    def turned(field: list[Row]) -> list[Row]:
        return [(team, None if score is None else sign * float(score)) for team, score in field]

    polls.whole(turned([("a", 0.1), ("gone", 0.2), ("b", 0.3), ("tied", 0.3), ("c", 0.4), ("masked", None)]))
    clock.pass_by(60)
    polls.top(turned([("c", 0.05), ("a", 0.1), ("b", 0.3)]))
    found = board(store, lower_is_better=sign == 1)
    assert names(found) == ["c", "a", "b", "tied", "masked"]
    assert (found.complete, found.in_top) == (True, 3)
    assert found.read_at(2) == START + timedelta(seconds=60)
    assert found.read_at(3) == START


def test_an_older_top_adds_nothing(store: Store, clock: StandingClock) -> None:
    polls = Polls(store)
    polls.top([("old", 0.01)])
    clock.pass_by(60)
    polls.whole(rows([0.1, 0.2]))
    assert names(board(store)) == ["t1", "t2"]
    clock.pass_by(60)
    polls.top([("old", 0.01)])
    assert names(board(store)) == ["old", "t1", "t2"], "the same top, read anew, is the newer one"


def test_it_was_shown_when_it_was_polled_last(store: Store, clock: StandingClock) -> None:
    polls = Polls(store)
    polls.deadline(START + timedelta(hours=1))
    polls.whole(rows([0.1]))
    assert (board(store).shown_at, board(store).after_deadline) == (START, False)
    clock.pass_by(7200)
    polls.whole(rows([0.1]))
    assert (board(store).shown_at, board(store).after_deadline) == (START + timedelta(hours=2), True)


def test_it_is_private_when_our_row_has_a_private_score_of_ours(store: Store, clock: StandingClock) -> None:
    polls = Polls(store)
    polls.deadline(START)
    polls.sent("1", 0.4, 0.5)
    with store.read() as session:
        sent = site_submissions(session, SLUG)
    for score, private in ((0.4, False), (0.5, True), (0.500004, True), (None, True)):
        clock.pass_by(60)
        polls.whole([("t", 0.1), (OURS, score)])
        found = board(store)
        assert found.is_private(sent, own_place(found.places, sent)) is private, score
    assert not found.is_private([SiteSubmission("1", "", "", 0.4, None, OURS)], 1), "no private score is known"


@pytest.mark.parametrize(
    ("shown", "other", "same"),
    [(0.12345, 0.123451, True), (0.12345, 0.1235, False), (12345.7, 12345.65, True), (None, 0.1, False)],
)
def test_scores_are_the_same_to_the_digits_that_boards_show(shown: float | None, other: float, same: bool) -> None:
    assert same_score(shown, other) is same


def test_they_come_in_the_order_in_which_they_were_sent(store: Store, clock: StandingClock) -> None:
    polls = Polls(store)
    for ref in ("99", "100", "7"):
        polls.sent(ref, 0.5, date="2020-01-01T00:00:00Z")
    polls.sent("8", 0.5, date="2019-12-31T00:00:00Z")
    with store.read() as session:
        assert [one.ref for one in site_submissions(session, SLUG)] == ["8", "7", "99", "100"]
        assert site_submissions(session, "beer") == []


def test_only_what_is_complete_has_scores(store: Store) -> None:
    polls = Polls(store)
    polls.sent("1", 0.5, 0.25)
    polls.sent("2", 0.1, 0.1, status="ERROR")
    polls.sent("3", 0.1, status="PENDING")
    polls.sent("4", 0.5, description=None)
    with store.read() as session:
        found = site_submissions(session, SLUG)
    assert [(one.public, one.private) for one in found] == [(0.5, 0.25), (None, None), (None, None), (0.5, None)]
    assert found[3].tag == ""
    assert best_of(found, lower_is_better=True) == best_of(found, lower_is_better=False) == found[0]
    assert best_of([], lower_is_better=True) is None


@pytest.mark.parametrize(
    ("text", "score"),
    [("0.5", 0.5), (" 1e-3 ", 0.001), (0, 0.0), ("", None), (None, None), ("n/a", None), ("nan", None), ("-inf", None)],
)
def test_a_score_is_a_finite_number_or_none(text: object, score: float | None) -> None:
    assert number(text) == score


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


def stand(scores: list[float | None], own: int, *, lower_is_better: bool) -> TeamStanding:
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


def standing(rank: int | None, *, private: bool = False, teams: int = 100, **lines: float) -> TeamStanding:
    medal = formulas.medal_at(rank, teams) if rank else None
    return TeamStanding("wine", AT, True, private, rank, teams, 0.4, medal, rival_lines=lines)


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
def test_what_is_reason_to_try_something_else(before: TeamStanding, after: TeamStanding, moved: bool) -> None:
    assert leaderboard_moved(before, after) is moved
