"""Votes, scores and times as other programs write them."""

from datetime import UTC, datetime

import pytest

from scrapers.imports.values import Unreadable, iso, score_of, time_of, title_of, votes_of
from scrapers.snapshots.fields import parse_time


@pytest.mark.parametrize(
    ("value", "votes"), [(3, 3), (-1, -1), ("12", 12), (" 1,234 ", 1234), (7.0, 7), (None, None), ("", None)]
)
def test_votes_are_read_from_numbers_and_text(value: object, votes: int | None):
    assert votes_of(value) == votes


@pytest.mark.parametrize("value", [True, "many", 2.5, 2**31, "9999999999", [], float("nan"), "1,2"])
def test_what_is_no_count_is_refused(value: object):
    with pytest.raises(Unreadable, match="votes"):
        votes_of(value)


@pytest.mark.parametrize(("value", "score"), [(0.5, 0.5), (1, 1.0), ("0.25", 0.25), ("nan", None), (None, None)])
def test_scores_are_read_and_nan_is_none(value: object, score: float | None):
    assert score_of(value) == score
    assert score_of(float("nan")) is None


@pytest.mark.parametrize("value", [float("inf"), "-inf", "best", False, {}, 10**400])
def test_what_is_no_finite_score_is_refused(value: object):
    with pytest.raises(Unreadable, match="score"):
        score_of(value)


@pytest.mark.parametrize(
    ("text", "time", "zoned"),
    [
        ("2017-10-25T14:03:00Z", datetime(2017, 10, 25, 14, 3, tzinfo=UTC), True),
        ("2017-10-25T14:03:00.1234567Z", datetime(2017, 10, 25, 14, 3, 0, 123456, tzinfo=UTC), True),
        ("2017-10-25T16:03:00+02:00", datetime(2017, 10, 25, 14, 3, tzinfo=UTC), True),
        ("2017-10-25 14:03:00", datetime(2017, 10, 25, 14, 3, tzinfo=UTC), False),
    ],
)
def test_times_are_read_as_utc(text: str, time: datetime, zoned: bool):
    assert time_of(text) == (time, zoned)


def test_a_mere_day_is_known_only_when_it_is_over():
    assert time_of("2017-10-25") == (datetime(2017, 10, 25, 23, 59, 59, tzinfo=UTC), False)


@pytest.mark.parametrize("value", ["10/25/2017", "yesterday", 1508940180, "0001-01-01T00:00:00+14:00", True])
def test_what_is_no_iso_time_is_refused(value: object):
    with pytest.raises(Unreadable, match="time"):
        time_of(value)


def test_times_are_written_as_a_snapshot_reads_them():
    for time in (datetime(2017, 10, 25, 14, 3, tzinfo=UTC), datetime(2017, 10, 25, 14, 3, 0, 5, tzinfo=UTC)):
        assert parse_time(iso(time)) == time
    assert iso(None) is None


def test_titles_stand_on_one_line():
    assert title_of(" a\n b\u202e ") == "a b"
    assert title_of("") is None
    assert title_of(7) is None
