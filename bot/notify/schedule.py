"""When notices are sent: pure functions of what waits, what was tried, the time and the settings."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.notify.settings import NotifySection

MOST_TOGETHER = 50
"""Notices that one letter may hold."""
PER_HOUR = 20
"""Letters to one service within any hour."""
FIRST_PAUSE, LONGEST_PAUSE = 30.0, 3600.0
"""Seconds after a letter's first failure, doubled with each that follows; and at most."""
ATTEMPT_SECONDS = 60.0
"""Longest time of one attempt."""
_HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Waiting:
    """A notice that is in no letter to the service yet."""

    id: int
    kind: str
    urgent: bool
    created_at: datetime


@dataclass(frozen=True)
class Tried:
    """A letter to the service, tried or about to be."""

    id: int
    urgent: bool
    due_at: datetime
    tried_at: datetime | None = None
    sent: bool = False


@dataclass(frozen=True)
class Plan:
    """What may be sent now."""

    again: tuple[int, ...] = ()
    """Existing letters to try again."""
    bundles: tuple[tuple[int, ...], ...] = ()
    """Groups of notices; each group becomes one new letter."""


def plan(waiting: Sequence[Waiting], letters: Iterable[Tried], now: datetime, settings: NotifySection) -> Plan:
    """Return what goes to one service now.

    Each notice is in at most one letter. At most `PER_HOUR` letters are tried within an hour, however often each; one that has
    not been tried yet keeps its place among them. What is urgent goes first; where places are short, the rest share a letter.

    `waiting` are in no letter of the service, oldest (lowest id) first; `letters` are not sent, or were tried within
    the last hour.
    """
    letters = list(letters)
    counted = {one.id for one in letters if one.tried_at is None or now - _HOUR < one.tried_at <= now}
    places, again, bundles = PER_HOUR - len(counted), list[int](), list[tuple[int, ...]]()
    for urgent in (True, False):
        due = [one.id for one in letters if not one.sent and one.urgent == urgent and is_due(one.due_at, now)]
        for id in sorted(due):
            if id in counted or places > 0:
                again.append(id)
                places -= id not in counted
        opened = [one for one in waiting if one.urgent == urgent and opens_at(one, now, settings) <= now]
        new = list(_bundles(_groups(opened, settings), places))
        bundles += new
        places -= len(new)
    return Plan(tuple(again), tuple(bundles))


def opens_at(notice: Waiting, now: datetime, settings: NotifySection) -> datetime:
    """Return when a notice may be sent: at its digest's hour, or at once."""
    # A notice from the future: the clock was put back since.
    since = min(notice.created_at, now)
    if notice.urgent or notice.kind not in settings.digest:
        return since
    day = since.replace(minute=0, second=0, microsecond=0)
    return next(at for hours in range(1, 25) if (at := day + hours * _HOUR).hour in settings.digest_hours)


def is_due(due_at: datetime, now: datetime) -> bool:
    """Return whether a letter's pause is over."""
    # A due time further ahead than any pause: the clock was put back.
    return due_at <= now or due_at > now + timedelta(seconds=ATTEMPT_SECONDS + LONGEST_PAUSE)


def _bundles(groups: Sequence[Sequence[int]], places: int) -> Iterator[tuple[int, ...]]:
    """Give each group a letter of its own; groups beyond the places share the last one."""
    alone = len(groups) if len(groups) <= places else max(0, places - 1)
    yield from map(tuple, groups[:alone])
    rest = sorted(id for group in groups[alone:] for id in group)
    if rest and places > alone:
        yield tuple(rest[:MOST_TOGETHER])


def _groups(notices: Sequence[Waiting], settings: NotifySection) -> list[list[int]]:
    """Group the notices of a digest, leave each other notice alone, and sort by the oldest notice."""
    held = [one.id for one in notices if one.kind in settings.digest]
    groups = [held[start : start + MOST_TOGETHER] for start in range(0, len(held), MOST_TOGETHER)]
    return sorted([*groups, *([one.id] for one in notices if one.kind not in settings.digest)])
