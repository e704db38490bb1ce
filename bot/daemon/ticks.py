"""Ticks: APScheduler as a clock alone, by the bot's own clock, which may be a fast one, and however clocks jump.

The time of a clock is cut into slots: every so many seconds from midnight UTC of 1970-01-01 on. A tick comes at a slot's
beginning and tells which slot it is, so that a row that is written under it is one row however often it is ticked.
"""

import asyncio
import logging
import time as machine
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from apscheduler.events import EVENT_JOB_ERROR, JobExecutionEvent
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.base import BaseTrigger

from state.clock import Clock

__all__ = ["TickSettings", "Ticks"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86_400.0


@dataclass(frozen=True)
class TickSettings:
    """How quick ticks are, all in real seconds."""

    shortest: float = 0.25
    """Between two ticks of one name."""
    again: float = 5.0
    """After which a tick comes again that failed."""
    look: float = 5.0
    """Between two looks at whether the clock has jumped."""
    jump: float = 1.0
    """By how much it has, at least."""


@dataclass
class _Slots:
    """One row of ticks."""

    step: timedelta
    offset: timedelta
    callback: Callable[[datetime], None]
    last: datetime | None = None
    """The slot of the last tick."""
    newest: datetime | None = None
    """The newest slot that was ticked."""

    def slot(self, now: datetime) -> datetime:
        """Return when the slot began that a time is in."""
        begin = _EPOCH + self.offset
        return begin + (now - begin) // self.step * self.step

    def tick(self, now: datetime) -> None:
        """Call back, once a slot."""
        slot = self.slot(now)
        if slot == self.last:
            return
        # A slot that was before the clock was put back: under its own time it would pass for done.
        at = slot if self.newest is None or slot > self.newest else now
        self.callback(at)
        self.last, self.newest = slot, max(slot, self.newest or slot)


class _Trigger(BaseTrigger):  # type: ignore[misc]  # it comes without types
    """Says when a row ticks next, by the machine's clock."""

    def __init__(self, slots: _Slots, clock: Clock, speed: float, shortest: float) -> None:
        self._slots, self._clock, self._speed, self._shortest = slots, clock, speed, shortest

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime:
        ours = self._clock.now()
        # Read after our clock: a tick that is late by a moment is in its slot, one too early is not.
        real = datetime.now(now.tzinfo)
        slot = self._slots.slot(ours)
        if previous_fire_time is None and slot != self._slots.last:
            return real
        seconds = (slot + self._slots.step - ours).total_seconds() / self._speed
        return real + timedelta(seconds=max(seconds, self._shortest), microseconds=1)


class Ticks:
    """Calls plain functions again and again, which are to write rows and to be quick.

    One that was missed, as the machine slept, a clock jumped or the callback failed, comes once, late, for the slot that
    it is then. A name ticks at most four times a real second: on a fast clock slots are left out.
    """

    def __init__(
        self,
        clock: Clock,
        speed: float = 1.0,
        settings: TickSettings | None = None,
        *,
        failed: Callable[[str, BaseException], None] | None = None,
    ) -> None:
        """Make them; they come from `start` on.

        Args:
            clock: whose time is meant.
            speed: its seconds in a real one.
            settings: bounds.
            failed: told the name and what its callback raised; the tick comes again after a few seconds.
        """
        self._clock, self._speed, self._failed = clock, speed, failed
        self._settings = settings or TickSettings()
        self._slots: dict[str, _Slots] = {}
        self._skew = 0.0
        self._looking: asyncio.TimerHandle | None = None
        # It writes a line for every tick.
        logging.getLogger("apscheduler").setLevel(logging.WARNING)
        defaults = {"coalesce": True, "max_instances": 1, "misfire_grace_time": None}
        self._scheduler = AsyncIOScheduler(timezone=UTC, job_defaults=defaults)
        self._scheduler.add_listener(self._heard, EVENT_JOB_ERROR)

    def every(
        self,
        name: str,
        seconds: float,
        callback: Callable[[datetime], None],
        *,
        offset: float = 0.0,
        at_start: bool = True,
    ) -> None:
        """Tick once in so many seconds, in place of what ticked under this name.

        Args:
            name: whose ticks they are.
            seconds: from one slot to the next, by the clock.
            callback: called with the time at which the slot began; where the clock was put back so that this slot was
                before, with the clock's time instead.
            offset: how many seconds after 1970-01-01T00:00Z a slot begins, to keep what is alike apart.
            at_start: whether the slot that has begun already is ticked too, at once: under its key it is done once, and
                what was missed while nothing ran is made up for.

        Raises:
            ValueError: it would tick all the time.
        """
        if not seconds > 0:
            raise ValueError("there is some time between two ticks")
        slots = _Slots(timedelta(seconds=seconds), timedelta(seconds=offset), callback)
        if not at_start:
            slots.last = slots.newest = slots.slot(self._clock.now())
        self._slots[name] = slots
        self._scheduler.add_job(
            self._tick, self._trigger(slots), args=(name,), id=name, name=name, replace_existing=True
        )

    def daily(self, name: str, at: time, callback: Callable[[datetime], None], *, at_start: bool = True) -> None:
        """Tick once a day at a time of day, in UTC; see `every`.

        Raises:
            ValueError: the time is of another zone.
        """
        if at.tzinfo not in (None, UTC):
            raise ValueError("the time of day is meant in UTC")
        since = timedelta(hours=at.hour, minutes=at.minute, seconds=at.second, microseconds=at.microsecond)
        self.every(name, _DAY, callback, offset=since.total_seconds(), at_start=at_start)

    def remove(self, name: str) -> None:
        """Tick no more under this name; one that is not there is as good as removed."""
        if self._slots.pop(name, None) is not None:
            self._scheduler.remove_job(name)

    def start(self) -> None:
        """Begin to tick, in the running event loop."""
        self._skew = self._measured()
        self._scheduler.start()
        self._look_later()

    async def stop(self) -> None:
        """Tick no more, for good."""
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None
        if not self._scheduler.running:
            return
        # A tick that is on its way would be cancelled, and told as one that failed: it ends in the loop's next round.
        self._slots.clear()
        self._scheduler.pause()
        await asyncio.sleep(0)
        self._scheduler.shutdown(wait=False)
        await asyncio.sleep(0)

    async def _tick(self, name: str) -> None:
        """Tick in the event loop's thread, which APScheduler grants to coroutines only."""
        if (slots := self._slots.get(name)) is None:
            return
        is_done = False
        try:
            slots.tick(self._clock.now())
            is_done = True
        finally:
            if not is_done and name in self._slots:
                later = datetime.now(UTC) + timedelta(seconds=self._settings.again)
                self._scheduler.modify_job(name, next_run_time=later)

    def _trigger(self, slots: _Slots) -> _Trigger:
        return _Trigger(slots, self._clock, self._speed, self._settings.shortest)

    def _heard(self, event: JobExecutionEvent) -> None:
        if self._failed is not None:
            self._failed(event.job_id, event.exception)

    def _measured(self) -> float:
        """Return how far our clock is ahead of a machine's that never jumps nor sleeps, in real seconds."""
        return self._clock.now().timestamp() / self._speed - machine.monotonic()

    def _look_later(self) -> None:
        self._looking = asyncio.get_running_loop().call_later(self._settings.look, self._look)

    def _look(self) -> None:
        """Set all ticks anew where the clock has jumped, which APScheduler neither sees nor allows for."""
        self._look_later()
        skew = self._measured()
        if abs(skew - self._skew) >= self._settings.jump:
            for name, slots in self._slots.items():
                next_time = self._trigger(slots).get_next_fire_time(None, datetime.now(UTC))
                self._scheduler.modify_job(name, next_run_time=next_time)
        self._skew = skew
