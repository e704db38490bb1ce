"""Words for counts, times and names, as people write them."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from difflib import get_close_matches

_ADDRESS = re.compile(
    r"(?:https?:/{1,2})?(?:www\.)?kaggle\.com/(?:competitions|c)/([^/?#]+)(?:[/?#].*)?", re.IGNORECASE
)


def plural(count: int, noun: str) -> str:
    """Write a count with its noun."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def iso(time: datetime) -> str:
    """Return an aware time in UTC, such as `2017-10-25T14:03:00Z`. Raises ValueError if it is naive."""
    if time.tzinfo is None:
        raise ValueError(f"{time} has no time zone")
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


def moment(time: datetime) -> str:
    """Write an aware time in UTC to the minute, for people."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def did_you_mean(name: str, known_names: Iterable[str]) -> str:
    """Return `did you mean X?` for the nearest known name, else `choose from A, B`, or `there are none`."""
    names = sorted(known_names)
    plain = {_plain(known_name): known_name for known_name in names}
    if matches := get_close_matches(_plain(name), plain, 1):
        return f"did you mean {plain[matches[0]]}?"
    return f"choose from {', '.join(names)}" if names else "there are none"


def _plain(name: str) -> str:
    return name.lower().replace(" ", "_").replace("-", "_")


def slug_of(text: str) -> str:
    """Return the name of a competition whose address on Kaggle is given; any other text is returned as it is."""
    match = _ADDRESS.fullmatch(text.strip())
    return match[1] if match else text
