"""When notices are sent: pure functions of what waits, what was tried, the time and the settings."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta

from bot.notify.settings import NotifySection

MOST_TOGETHER = 50
"""Notices that one letter may hold."""
_HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class WaitingNotice:
    """A notice that is in no letter to the service yet."""

    id: int
    kind: str
    urgent: bool
    created_at: datetime


@dataclass(frozen=True)
class SentLetter:
    """A letter to the service, tried or about to be."""

    id: int
    urgent: bool
    due_at: datetime
    tried_at: datetime | None = None
    sent: bool = False


@dataclass(frozen=True)
class Plan:
    """What may be sent now."""

    retries: tuple[int, ...] = ()
    """Existing letters to try again."""
    bundles: tuple[tuple[int, ...], ...] = ()
    """Groups of notices; each group becomes one new letter."""


def plan(
    notices: Sequence[WaitingNotice], letters: Iterable[SentLetter], now: datetime, settings: NotifySection
) -> Plan:
    """Return what goes to one service now.

    Each notice is in at most one letter. At most `per_hour` letters are tried within an hour, however often each; one
    that has not been tried yet keeps its place among them. The last of several places is reserved for urgent notices;
    where places are short, the oldest go first and the rest share a letter. In quiet hours only urgent notices go.

    `notices` are in no letter of the service, oldest (lowest id) first; `letters` are not sent, or were tried within
    the last hour.
    """
    letters = list(letters)
    counted_ids = {letter.id for letter in letters if letter.tried_at is None or now - _HOUR < letter.tried_at <= now}
    due = [letter for letter in letters if not letter.sent and is_due(letter.due_at, now, settings)]
    places = _Places(max(0, settings.per_hour - len(counted_ids)))
    retry_ids = list(_retries([letter for letter in due if letter.urgent], counted_ids, places))
    bundles = list(_bundles([[notice.id] for notice in notices if notice.urgent], places))
    if not is_quiet(now, settings):
        if settings.per_hour > 1:  # one is reserved for urgent notices to come
            places.free = max(0, places.free - 1)
        retry_ids += _retries([letter for letter in due if not letter.urgent], counted_ids, places)
        ordinary = [notice for notice in notices if not notice.urgent and opens_at(notice, now, settings) <= now]
        bundles += _bundles(_groups(ordinary, settings), places)
    return Plan(tuple(retry_ids), tuple(bundles))


def opens_at(notice: WaitingNotice, now: datetime, settings: NotifySection) -> datetime:
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


@dataclass
class _Places:
    """How many letters may still go within this hour."""

    free: int


def _retries(due: Sequence[SentLetter], counted_ids: set[int], places: _Places) -> Iterator[int]:
    for letter in sorted(due, key=lambda letter: letter.id):
        if letter.id not in counted_ids:
            if places.free <= 0:
                continue
            places.free -= 1
        yield letter.id


def _bundles(groups: Sequence[Sequence[int]], places: _Places) -> Iterator[tuple[int, ...]]:
    """Give each group a letter of its own; groups over the rate share the last one."""
    single_count = len(groups) if len(groups) <= places.free else max(0, places.free - 1)
    places.free -= single_count
    yield from map(tuple, groups[:single_count])
    merged_ids = sorted(id for group in groups[single_count:] for id in group)
    for start in range(0, len(merged_ids), MOST_TOGETHER):
        if places.free <= 0:
            return
        places.free -= 1
        yield tuple(merged_ids[start : start + MOST_TOGETHER])


def _groups(notices: Sequence[WaitingNotice], settings: NotifySection) -> list[list[int]]:
    """Group what waited for the digest or the end of quiet hours, leave other notices alone, and sort by the oldest one."""
    held_ids = [n.id for n in notices if n.kind in settings.digest or is_quiet(n.created_at, settings)]
    groups = [held_ids[start : start + MOST_TOGETHER] for start in range(0, len(held_ids), MOST_TOGETHER)]
    return sorted([*groups, *([notice.id] for notice in notices if notice.id not in held_ids)])


def _next(after: datetime, opening_time: time, settings: NotifySection) -> datetime:
    day = after.astimezone(settings.zone).date()
    for days in range(3):
        candidate = datetime.combine(day + timedelta(days=days), opening_time, settings.zone).astimezone(after.tzinfo)
        if candidate > after:
            return candidate
    raise ValueError(f"no {opening_time} follows {after}")
