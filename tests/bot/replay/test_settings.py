"""A replay's setting of time: the cutoff."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.replay.settings import parse_cutoff
from bot.report.words import cutoff_note
from scrapers.snapshots.card import TaskCard
from scrapers.snapshots.snapshot import Snapshot
from state.errors import UsageError


@pytest.fixture(scope="module")
def card(tiny: Path) -> TaskCard:
    return Snapshot.load(tiny, METRIC_DIRECTIONS).card


def test_a_cutoff_may_be_any_time_from_the_start_on(card: TaskCard) -> None:
    assert parse_cutoff("deadline", card) == card.deadline
    assert parse_cutoff("2020-02-01", card) == datetime(2020, 2, 1, tzinfo=UTC)
    assert parse_cutoff("2020-02-01T02:00:00+02:00", card) == datetime(2020, 2, 1, tzinfo=UTC)
    assert parse_cutoff("2020-01-01T00:00:00Z", card) == card.enabled_at


def test_a_cutoff_before_the_start_is_refused_with_the_times_that_will_do(card: TaskCard) -> None:
    with pytest.raises(UsageError, match=r"tiny-table began at 2020-01-01T00:00:00Z and ended at 2020-03-01T00:00:00Z"):
        parse_cutoff("2019-12-31T23:59:59Z", card)


def test_a_cutoff_after_the_deadline_is_taken_and_said_to_spoil_the_comparison(card: TaskCard) -> None:
    later = parse_cutoff("2020-03-05", card)
    assert later > card.deadline
    assert "after the deadline 2020-03-01 00:00 UTC" in (cutoff_note(later, card.deadline) or "")
    assert cutoff_note(card.deadline, card.deadline) is None
    assert cutoff_note(None, card.deadline) is None, "a live run has none"


def test_what_is_no_time_is_refused(card: TaskCard) -> None:
    with pytest.raises(UsageError, match="give `deadline` or a time"):
        parse_cutoff("yesterday", card)
