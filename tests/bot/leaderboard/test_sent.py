"""Our submissions, read back from polls."""

import pytest

from bot.leaderboard.board import best_of, number, site_submissions
from state.store import Store
from tests.bot.leaderboard.boards import SLUG, Polls
from tests.state.conftest import StandingClock, clock, store

__all__ = ["clock", "store"]


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
