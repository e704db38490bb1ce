"""Boards and our submissions, read back from polls."""

from datetime import timedelta

import pytest

from bot.leaderboard.board import (
    Board,
    SiteSubmission,
    best_of,
    number,
    own_place,
    read_board,
    same_score,
    site_submissions,
)
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


def test_without_a_reading_there_is_none(store: Store) -> None:
    with store.read() as session:
        assert read_board(session, SLUG, lower_is_better=True) is None


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
