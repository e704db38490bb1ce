"""Reads a column of a table as times, in the ways in which tables spell them."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime

Parser = Callable[[str], float]
"""Reads one cell as seconds since 1970; raises ValueError where it is not a time."""

_DATES = (
    *("%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%m/%d/%y", "%d/%m/%y"),
    *("%d.%m.%Y", "%Y.%m.%d", "%m-%d-%Y", "%d-%m-%Y"),
    *("%d-%b-%Y", "%d %b %Y", "%b %d, %Y"),
)
_FORMATS = tuple(date + time for date in _DATES for time in ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p"))
"""Beside those of ISO 8601; the first that reads every cell counts."""
_PROBE = 200


def parse_times(cells: Sequence[str]) -> list[float] | None:
    """Read a column as times (seconds since 1970, a naive time taken as UTC); None if any cell is not a time."""
    if not cells:
        return None
    for parse in (_iso, *(_formatted(form) for form in _FORMATS)):
        if _try(parse, cells[:_PROBE]) is not None:
            times = _try(parse, cells)
            if times is not None:
                return times
    return None


def _try(parse: Parser, cells: Iterable[str]) -> list[float] | None:
    try:
        return [parse(cell.strip()) for cell in cells]
    except ValueError:
        return None


def _iso(cell: str) -> float:
    # Python also takes `20110101` for a date; a bare number is more likely an id.
    if cell.isdigit():
        raise ValueError("a bare number")
    time = datetime.fromisoformat(cell)
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def _formatted(form: str) -> Parser:
    return lambda cell: datetime.strptime(cell, form).replace(tzinfo=UTC).timestamp()
