"""Finds out whether test rows were cut from training rows by time, and which stretches of time are training."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from itertools import pairwise

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
_STRETCH = 10
"""A training or test stretch holds at least this many distinct times on average, or the split is no split by time."""
_CHANCE = 0.25
"""Changes between training and test must be rarer than this share of what a random split would show."""


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


def train_stretches(train: Sequence[float], test: Sequence[float]) -> dict[float, int] | None:
    """Return which stretch of training time each training time belongs to, or None if time did not make the split.

    Times of training and test rows are laid on one line. A split by time (the test after the training rows, or
    blocks of each in turn) changes sides rarely; a random one does so all the time.

    Args:
        train: times of the training rows.
        test: times of the test rows.
    """
    train_times, test_times = set(train), set(test)
    if len(train_times) < _STRETCH or not test_times:
        return None
    if min(test_times) >= max(train_times):
        return dict.fromkeys(train_times, 0)
    if train_times & test_times:
        return None
    line = sorted([(time, True) for time in train_times] + [(time, False) for time in test_times])
    changes = sum(left[1] != right[1] for left, right in pairwise(line))
    share = len(train_times) / len(line)
    by_chance = 2 * share * (1 - share) * len(line)
    if changes > _CHANCE * by_chance or len(line) < _STRETCH * (changes + 1):
        return None
    return _number(line)


def _number(line: Sequence[tuple[float, bool]]) -> dict[float, int]:
    stretches: dict[float, int] = {}
    stretch, was_train = -1, False
    for time, is_train in line:
        if is_train:
            stretch += not was_train
            stretches[time] = stretch
        was_train = is_train
    return stretches
