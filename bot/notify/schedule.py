"""When notices are sent: pure functions of what waits, what was tried, the time and the settings."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta

from bot.notify.settings import NotifySection

MOST_TOGETHER = 50
"""Notices that one letter may hold."""
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

    Each notice is in at most one letter. At most `per_hour` letters are tried within an hour, however often each; one
    that has not been tried yet keeps its place among them. The last of several places is reserved for urgent notices;
    where places are short, the oldest go first and the rest share a letter. In quiet hours only urgent notices go.

    `waiting` are in no letter of the service, oldest (lowest id) first; `letters` are not sent, or were tried within
    the last hour.
    """
    letters = list(letters)
    counted = {one.id for one in letters if one.tried_at is None or now - _HOUR < one.tried_at <= now}
    due = [one for one in letters if not one.sent and is_due(one.due_at, now, settings)]
    places = _Places(max(0, settings.per_hour - len(counted)))
    again = list(_again([one for one in due if one.urgent], counted, places))
    bundles = list(_bundles([[one.id] for one in waiting if one.urgent], places))
    if not is_quiet(now, settings):
        places.keep_one(settings.per_hour)
        again += _again([one for one in due if not one.urgent], counted, places)
        ordinary = [one for one in waiting if not one.urgent and opens_at(one, now, settings) <= now]
        bundles += _bundles(_groups(ordinary, settings), places)
    return Plan(tuple(again), tuple(bundles))


def opens_at(notice: Waiting, now: datetime, settings: NotifySection) -> datetime:
    """Return when a notice may be sent: at its digest's hour, at the end of quiet hours, or at once."""
    # A notice from the future: the clock was put back since.
    since = min(notice.created_at, now)
    if notice.urgent:
        return since
    if notice.kind in settings.digest:
        return min(_next(since, time(hour), settings) for hour in settings.digest_hours)
    return (
        _next(since, settings.quiet_hours[1], settings) if settings.quiet_hours and is_quiet(since, settings) else since
    )


def is_quiet(now: datetime, settings: NotifySection) -> bool:
    """Return whether it is a time of quiet hours, in which only urgent notices are sent."""
    if settings.quiet_hours is None:
        return False
    begin, end = settings.quiet_hours
    local = now.astimezone(settings.zone).time()
    return begin <= local < end if begin < end else local >= begin or local < end


def is_due(due_at: datetime, now: datetime, settings: NotifySection) -> bool:
    """Return whether a letter's pause is over."""
    # A due time further ahead than any pause: the clock was put back.
    return due_at <= now or due_at > now + timedelta(seconds=settings.seconds + settings.longest_pause)


class _Places:
    """How many letters may still go within this hour."""

    def __init__(self, free: int) -> None:
        self.free = free

    def keep_one(self, per_hour: int) -> None:
        """Reserve one for urgent notices to come, unless there is only one in all."""
        if per_hour > 1:
            self.free = max(0, self.free - 1)

    def take(self) -> bool:
        self.free -= 1
        return self.free >= 0


def _again(due: Sequence[Tried], counted: set[int], places: _Places) -> Iterator[int]:
    for one in sorted(due, key=lambda one: one.id):
        if one.id in counted or (places.free > 0 and places.take()):
            yield one.id


def _bundles(groups: Sequence[Sequence[int]], places: _Places) -> Iterator[tuple[int, ...]]:
    """Give each group a letter of its own; groups over the rate share the last one."""
    alone = len(groups) if len(groups) <= places.free else max(0, places.free - 1)
    for group in groups[:alone]:
        places.take()
        yield tuple(group)
    rest = sorted(id for group in groups[alone:] for id in group)
    for start in range(0, len(rest), MOST_TOGETHER):
        if places.free <= 0:
            return
        places.take()
        yield tuple(rest[start : start + MOST_TOGETHER])


def _groups(notices: Sequence[Waiting], settings: NotifySection) -> list[list[int]]:
    """Group the notices that were held back, leave each other notice alone, and sort by the oldest notice."""
    held = [one.id for one in notices if _is_held(one, settings)]
    groups = [held[start : start + MOST_TOGETHER] for start in range(0, len(held), MOST_TOGETHER)]
    return sorted([*groups, *([one.id] for one in notices if not _is_held(one, settings))])


def _is_held(notice: Waiting, settings: NotifySection) -> bool:
    """Return whether a notice waited for the digest or for the end of quiet hours."""
    return notice.kind in settings.digest or is_quiet(notice.created_at, settings)


def _next(after: datetime, at: time, settings: NotifySection) -> datetime:
    day = after.astimezone(settings.zone).date()
    for days in range(3):
        found = datetime.combine(day + timedelta(days=days), at, settings.zone).astimezone(after.tzinfo)
        if found > after:
            return found
    raise ValueError(f"no {at} follows {after}")
