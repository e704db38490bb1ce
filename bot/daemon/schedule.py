"""When tasks are put into the queue, and under which keys; a tick of the schedule only writes rows.

The clock's time is cut into slots of equal length, counted from 1970-01-01T00:00Z. A tick comes at the beginning of a slot
and names it, so that a slot's row is written only once, however often it is ticked.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from bot.live.live_competition import LiveCompetition
from state.clock import Clock
from state.store import Store
from state.tasks import has_open_task, put_task

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86_400.0
_FINAL_WITHIN = timedelta(days=3)
"""Final submissions are proposed from this long before the deadline."""
_BACKUP = 3 * _HOUR + 17 * _MINUTE
"""Seconds after midnight."""
_SUMMARY = 5 * _MINUTE
_CHECK_SECONDS, _FAST_CHECK_SECONDS = 1.0, 0.25
"""Real seconds between two checks for new slots; the second is for a fast clock."""


@dataclass
class _Series:
    step: timedelta
    offset: timedelta
    callback: Callable[[datetime], None]
    last: datetime | None = None
    """The slot of the last tick."""
    newest: datetime | None = None
    """The newest slot that was ticked."""
    rest_until: float = 0.0
    """By the machine's monotonic clock: not called before."""

    def slot(self, now: datetime) -> datetime:
        """Return the beginning of the slot that contains a time."""
        begin = _EPOCH + self.offset
        return begin + (now - begin) // self.step * self.step

    def tick(self, now: datetime) -> None:
        """Call back, once per slot."""
        slot = self.slot(now)
        if slot == self.last:
            return
        # A slot from before the clock was put back would count as done under its own time.
        due_at = slot if self.newest is None or slot > self.newest else now
        self.callback(due_at)
        self.last, self.newest = slot, max(slot, self.newest or slot)


class Ticks:
    """Calls plain functions regularly by the bot's own clock, which may be fast; they write rows and are quick.

    A tick that was missed, because the machine slept, a clock jumped or the callback failed, comes once, late, for the
    current slot. On a fast clock some slots are skipped.
    """

    def __init__(
        self,
        clock: Clock,
        speed: float = 1.0,
        *,
        failed: Callable[[str, Exception], None],
        check_seconds: float | None = None,
        retry_seconds: float = 5.0,
    ) -> None:
        """Set them up; `run` ticks.

        Args:
            speed: the clock's seconds per real second.
            failed: receives the name and the exception of a callback that failed.
            check_seconds: real seconds between two checks for new slots (default: by the speed).
            retry_seconds: real seconds after which a callback that failed is called again.
        """
        self._clock, self._failed, self._retry_seconds = clock, failed, retry_seconds
        self._check_seconds = check_seconds or (_CHECK_SECONDS if speed == 1.0 else _FAST_CHECK_SECONDS)
        self._series: dict[str, _Series] = {}

    def add(
        self,
        name: str,
        seconds: float,
        callback: Callable[[datetime], None],
        *,
        offset: float = 0.0,
        at_start: bool = True,
    ) -> None:
        """Tick once every `seconds`.

        Slots of `seconds` are counted from `offset` seconds after 1970-01-01T00:00Z, which spreads series over
        time. The callback gets the time at which its slot began; if the clock was put back, and the slot was ticked
        before, the clock's time. With `at_start` the current slot is ticked at once: its key makes sure that it is
        done only once, and what was missed while nothing ran is made up for.
        """
        series = self._series[name] = _Series(timedelta(seconds=seconds), timedelta(seconds=offset), callback)
        if not at_start:
            series.last = series.newest = series.slot(self._clock.now())

    async def run(self) -> None:
        """Tick until cancelled."""
        while True:
            for name, series in self._series.items():
                if time.monotonic() < series.rest_until:
                    continue
                try:
                    series.tick(self._clock.now())
                except Exception as error:  # a supervision boundary: `failed` keeps it
                    series.rest_until = time.monotonic() + self._retry_seconds
                    self._failed(name, error)
            await asyncio.sleep(self._check_seconds)


def schedule(
    ticks: Ticks,
    store: Store,
    entries: Mapping[str, LiveCompetition],
    wake: Callable[[], None],
    speed: float,
    outputs_every: float,
) -> None:
    """Set up a daemon's ticks; each looks up what is due when it comes.

    `speed` is the clock's seconds per second of the machine, `outputs_every` those between two checks for kernels'
    files.
    """

    def add_task(kind: str, due_at: datetime, competition: str = "") -> None:
        prefix = f"{competition}:" if competition else ""
        with store.write(durable=False) as tx:
            new = put_task(tx, f"{kind}:{prefix}{due_at:%Y-%m-%dT%H:%M:%S}", kind, competition=competition)
        if new:
            wake()

    def put_for(kind: str, is_due: Callable[[LiveCompetition, datetime], bool]) -> Callable[[datetime], None]:
        """Put a task for each competition that is due and has none of the kind under way."""

        def tick(due_at: datetime) -> None:
            for slug, entry in entries.items():
                with store.read() as session:
                    is_running = has_open_task(session, kind, slug)
                if is_due(entry, due_at) and not is_running:
                    add_task(kind, due_at, slug)

        return tick

    def ends_soon(entry: LiveCompetition, time: datetime) -> bool:
        deadline = entry.deadline
        return deadline is not None and time < deadline <= time + _FINAL_WITHIN and entry.state != "stopped"

    ticks.add("polls", _MINUTE, put_for("poll", lambda entry, _time: entry.poll_is_due()))
    ticks.add("submissions", _HOUR, put_for("submit", lambda entry, _time: entry.is_open), offset=11 * _MINUTE)
    ticks.add("outputs", outputs_every, put_for("outputs", lambda entry, _time: entry.is_open), offset=7 * _MINUTE)
    ticks.add("final selections", 6 * _HOUR, put_for("final", ends_soon))
    # These look after the machine, and go by its time: a rehearsal's day is over in seconds.
    ticks.add("health", 5 * _MINUTE * speed, lambda due_at: add_task("health", due_at))
    ticks.add("disk", _HOUR * speed, lambda due_at: add_task("disk", due_at), offset=23 * _MINUTE)
    # Before the backup, so that the backup does not hold what has expired.
    ticks.add("expiry", _DAY * speed, lambda due_at: add_task("expiry", due_at), offset=_BACKUP - _HOUR, at_start=False)
    ticks.add("backups", _DAY * speed, lambda due_at: add_task("backup", due_at), offset=_BACKUP, at_start=False)
    ticks.add("days", _DAY, lambda due_at: add_task("day", due_at), offset=_SUMMARY)
