"""Votes, scores and times as other programs write them; what cannot be read is unknown, never a guess."""

import math
import re
from datetime import UTC, datetime, time

from scrapers.posts.cleaning import clean

_WHOLE = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+|[+-]?\d{1,10}")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_LONGEST_TITLE = 1_000
"""Characters."""


class Unreadable(ValueError):
    """A value that is there, and cannot be read as what it should be."""


def votes_of(value: object) -> int | None:
    """Return a count of votes; None where there is none.

    Raises:
        Unreadable: it is no whole number that the format can hold.
    """
    if value is None or value == "":
        return None
    number: object = value
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        number = int(value.strip().replace(",", ""))
    elif isinstance(value, float) and value.is_integer():
        number = int(value)
    if isinstance(number, bool) or not isinstance(number, int) or not -(2**31) <= number < 2**31:
        raise Unreadable("votes")
    return number


def score_of(value: object) -> float | None:
    """Return a finite score; None where there is none, and for NaN, as which pandas writes that there is none.

    Raises:
        Unreadable: it is no finite number.
    """
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise Unreadable("score")
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise Unreadable("score") from None
    if math.isnan(number):
        return None
    if math.isinf(number):
        raise Unreadable("score")
    return number


def time_of(value: object) -> tuple[datetime | None, bool]:
    """Return an ISO 8601 time as aware UTC, and whether it says its zone; None where there is none.

    A time without a zone is taken as UTC, which is what Kaggle writes. A mere day is taken as its last moment, so that
    nothing is known before it was written.

    Raises:
        Unreadable: it is no such time.
    """
    if value is None or value == "":
        return None, True
    if not isinstance(value, str):
        raise Unreadable("time")
    text = value.strip()
    try:
        found = datetime.fromisoformat(text)
        if _DAY.fullmatch(text):
            found = datetime.combine(found.date(), time(23, 59, 59))
        zoned = found.tzinfo is not None
        found = found.astimezone(UTC) if zoned else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise Unreadable("time") from None
    return found, zoned


def title_of(value: object) -> str | None:
    """Return a title on one line; None where there is none."""
    if not isinstance(value, str):
        return None
    return " ".join(clean(value).split())[:_LONGEST_TITLE] or None


def iso(moment: datetime | None) -> str | None:
    """Return an aware UTC time as snapshots write it."""
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")
