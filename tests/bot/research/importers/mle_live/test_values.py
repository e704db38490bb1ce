"""Votes, scores and times as other programs write them."""

from datetime import UTC, datetime

import pytest
from pydantic import TypeAdapter, ValidationError

from bot.research.importers.mle_live.info import SCORE, TIME, VOTES, in_utc, title_of


@pytest.mark.parametrize(("value", "votes"), [(3, 3), (-1, -1), ("12", 12), (7.0, 7), (None, None), ("", None)])
def test_votes_are_read_from_numbers_and_text(value: object, votes: int | None):
    assert VOTES.validate_python(value) == votes


@pytest.mark.parametrize(("value", "score"), [(0.5, 0.5), (1, 1.0), ("0.25", 0.25), (float("nan"), None), (None, None)])
def test_scores_are_read_and_nan_is_none(value: object, score: float | None):
    assert SCORE.validate_python(value) == score


@pytest.mark.parametrize(
    ("values", "value"),
    [
        *((VOTES, value) for value in ("many", 2.5, 2**31, "9999999999", [], "1,2")),
        *((SCORE, value) for value in (float("inf"), "-inf", "best", {}, 10**400)),
        *((TIME, value) for value in ("10/25/2017", "yesterday", [])),
    ],
)
def test_what_is_no_such_value_is_refused(values: TypeAdapter[object], value: object):
    with pytest.raises(ValidationError):
        values.validate_python(value)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2017-10-25T14:03:00Z", datetime(2017, 10, 25, 14, 3, tzinfo=UTC)),
        ("2017-10-25T14:03:00.1234567Z", datetime(2017, 10, 25, 14, 3, 0, 123456, tzinfo=UTC)),
        ("2017-10-25T16:03:00+02:00", datetime(2017, 10, 25, 14, 3, tzinfo=UTC)),
        ("2017-10-25 14:03:00", datetime(2017, 10, 25, 14, 3, tzinfo=UTC)),
    ],
)
def test_times_are_read_as_utc(text: str, time: datetime):
    read = TIME.validate_python(text)
    assert read is not None
    assert in_utc(read) == time


def test_a_mere_day_is_known_only_when_it_is_over():
    assert TIME.validate_python("2017-10-25") == datetime(2017, 10, 25, 23, 59, 59)  # noqa: DTZ001 - it names no zone


def test_titles_stand_on_one_line():
    assert title_of(" a\n b\u202e ") == "a b"
    assert title_of("") is None
    assert title_of(7) is None
