"""Words for counts, times and names that were mistyped."""

from collections.abc import Iterable
from datetime import UTC, datetime
from difflib import get_close_matches


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


def moment(time: datetime) -> str:
    """Write an aware time in UTC to the minute, for people."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def did_you_mean(name: str, known: Iterable[str], closeness: float = 0.6) -> str:
    """Return `did you mean X?` for the nearest known name, else `known are A, B`, or `there are none`.

    Args:
        name: what was written.
        known: what might have been meant.
        closeness: from 0 to 1; nothing less close is proposed.
    """
    names = sorted(known)
    plain = {_plain(one): one for one in names}
    if near := get_close_matches(_plain(name), plain, 1, closeness):
        return f"did you mean {plain[near[0]]}?"
    return f"known are {', '.join(names)}" if names else "there are none"


def _plain(name: str) -> str:
    return name.lower().replace(" ", "_").replace("-", "_")
