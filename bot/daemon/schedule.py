"""Schedule: what is put into the queue when, under which keys; a tick writes rows and does nothing itself."""

from collections.abc import Callable, Mapping
from datetime import datetime, time, timedelta

from bot.daemon.ticks import Ticks
from bot.live.entry import Entry
from state.store import Store
from state.tasks import has_open_task, put_task

__all__ = ["schedule"]

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86_400.0
_FINAL_WITHIN = timedelta(days=3)
"""Before the deadline, from which on the owner is told which submissions should count."""
_BACKUP = 3 * _HOUR + 17 * _MINUTE
"""Seconds after midnight."""
_SUMMARY = time(0, 5)


def schedule(
    ticks: Ticks,
    store: Store,
    entries: Mapping[str, Entry],
    wake: Callable[[], None],
    speed: float,
    outputs_every: float,
) -> None:
    """Set up the ticks of a daemon; whatever is due is looked up when the tick comes.

    Args:
        ticks: the clock's.
        store: where tasks are put.
        entries: the competitions.
        wake: called when a task was put.
        speed: the clock's seconds in one of the machine's.
        outputs_every: seconds of the clock between two looks at what public kernels wrote.
    """

    def put(kind: str, at: datetime, *, competition: str = "") -> None:
        of = f"{competition}:" if competition else ""
        with store.write(durable=False) as tx:
            new = put_task(tx, f"{kind}:{of}{at:%Y-%m-%dT%H:%M:%S}", kind, competition=competition)
        if new:
            wake()

    def under_way(kind: str, competition: str) -> bool:
        with store.read() as session:
            return has_open_task(session, kind, competition)

    def polls(at: datetime) -> None:
        for slug, entry in entries.items():
            if entry.poll_is_due() and not under_way("poll", slug):
                put("poll", at, competition=slug)

    def of_open(kind: str) -> Callable[[datetime], None]:
        def tick(at: datetime) -> None:
            for slug, entry in entries.items():
                if entry.is_open and not under_way(kind, slug):
                    put(kind, at, competition=slug)

        return tick

    def selections(at: datetime) -> None:
        for slug, entry in entries.items():
            deadline = entry.deadline
            if deadline is not None and at < deadline <= at + _FINAL_WITHIN and entry.state != "stopped":
                put("final", at, competition=slug)

    ticks.every("polls", _MINUTE, polls)
    ticks.every("submissions", _HOUR, of_open("submit"), offset=11 * _MINUTE)
    ticks.every("outputs", outputs_every, of_open("outputs"), offset=7 * _MINUTE)
    ticks.every("final selections", 6 * _HOUR, selections)
    # What is looked after here is the machine, by whose time that is: a rehearsal's day is over in seconds.
    ticks.every("health", 5 * _MINUTE * speed, lambda at: put("health", at))
    ticks.every("disk", _HOUR * speed, lambda at: put("disk", at), offset=23 * _MINUTE)
    # Before the backup, which is then without it.
    ticks.every("expiry", _DAY * speed, lambda at: put("expiry", at), offset=_BACKUP - _HOUR, at_start=False)
    ticks.every("backups", _DAY * speed, lambda at: put("backup", at), offset=_BACKUP, at_start=False)
    ticks.daily("days", _SUMMARY, lambda at: put("day", at))
