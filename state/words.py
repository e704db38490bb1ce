"""Words for counts and times."""

from datetime import UTC, datetime


def plural(count: int, noun: str) -> str:
    """Write a count with its noun."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def iso(time: datetime) -> str:
    """Return an aware time as ISO 8601 UTC with `Z`, such as `2017-10-25T14:03:00Z`.

    Raises:
        ValueError: the time is naive.
    """
    if time.tzinfo is None:
        raise ValueError(f"{time} has no time zone")
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")
