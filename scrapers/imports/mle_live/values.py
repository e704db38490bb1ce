"""Votes, scores, times and titles as other programs write them, and times as snapshots do."""

import re
from datetime import UTC, datetime
from typing import Annotated

from pydantic import BeforeValidator, Field, FiniteFloat, TypeAdapter

from scrapers.posts.cleaning import clean

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_LONGEST_TITLE = 1_000
"""Characters."""


def _there(value: object) -> object:
    """Read an empty value, and NaN, which pandas writes for it, as None."""
    return None if value == "" or value != value else value


def _whole_day(value: object) -> object:
    """Read a date without a time as the day's last moment, so that nothing is known before it was written."""
    return f"{value}T23:59:59" if isinstance(value, str) and _DAY.fullmatch(value) else value


VOTES = TypeAdapter(Annotated[Annotated[int, Field(ge=-(2**31), lt=2**31)] | None, BeforeValidator(_there)])
SCORE = TypeAdapter(Annotated[FiniteFloat | None, BeforeValidator(_there)])
TIME = TypeAdapter(Annotated[datetime | None, BeforeValidator(_whole_day), BeforeValidator(_there)])
"""A time without a zone is UTC, which is what Kaggle writes; see `in_utc`."""


def in_utc(time: datetime) -> datetime:
    """Return a time as aware UTC."""
    return time.astimezone(UTC) if time.tzinfo is not None else time.replace(tzinfo=UTC)


def title_of(value: object) -> str | None:
    """Return a title on one line; None if there is none."""
    if not isinstance(value, str):
        return None
    return " ".join(clean(value).split())[:_LONGEST_TITLE] or None


def iso(moment: datetime | None) -> str | None:
    """Return an aware UTC time as snapshots write it."""
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")
