"""The clocks behind every timer, schedule and query."""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


def midnight(now: datetime, days: int = 0) -> datetime:
    """Return when the day of a time began, or a day that many days later."""
    return now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=days)


def back_off(failures: int, first: float, longest: float) -> float:
    """Return the seconds to wait after so many failures in a row, from 1: twice as many each time."""
    # The exponent is bounded: a float ends at 2**1024.
    return min(first * 2.0 ** min(failures - 1, 64), longest)


class Clock(Protocol):
    """The current time, and the time up to which the world may be known."""

    def now(self) -> datetime:
        """Return the current time, aware UTC."""
        ...

    def as_of(self) -> datetime:
        """Return the time up to which posts, votes and scores may be known, aware UTC."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after that many seconds of this clock."""
        ...


class SystemClock:
    """The machine's clock; everything up to now may be known."""

    def now(self) -> datetime:
        """Return the machine's time."""
        return datetime.now(UTC)

    def as_of(self) -> datetime:
        """Return the same as `now`."""
        return self.now()

    async def sleep(self, seconds: float) -> None:
        """Sleep in real seconds."""
        await asyncio.sleep(seconds)


class ReplayClock(SystemClock):
    """Runs in real time, but nothing after the cutoff may be known."""

    def __init__(self, cutoff: datetime) -> None:
        if cutoff.tzinfo is None:
            raise ValueError("the cutoff must have a time zone")
        self._cutoff = cutoff.astimezone(UTC)

    def as_of(self) -> datetime:
        """Return the cutoff."""
        return self._cutoff


class StreamClock(SystemClock):
    """Runs in real time, while `as_of` moves from a start towards a cutoff on request, and never back."""

    def __init__(self, start: datetime, cutoff: datetime) -> None:
        """Begin at the start. Raises ValueError if a time is naive, or the cutoff is before the start."""
        if start.tzinfo is None or cutoff.tzinfo is None:
            raise ValueError("the start and the cutoff must have a time zone")
        if cutoff < start:
            raise ValueError("the cutoff must not be before the start")
        self.start = start.astimezone(UTC)
        self.cutoff = cutoff.astimezone(UTC)
        self._as_of = self.start

    def as_of(self) -> datetime:
        """Return the time it has reached."""
        return self._as_of

    def time_at(self, share: float) -> datetime:
        """Return the time at a share (0 to 1) of the way to the cutoff, in whole seconds as posts have them."""
        if share >= 1.0:
            return self.cutoff
        way = (self.cutoff - self.start).total_seconds()
        return self.start + timedelta(seconds=int(way * max(0.0, share)))

    def move(self, time: datetime) -> None:
        """Move on to a time. Raises ValueError if it is before the present one, or after the cutoff."""
        if not self._as_of <= time <= self.cutoff:
            raise ValueError(f"the clock is at {self._as_of} and ends at {self.cutoff}: it cannot move to {time}")
        self._as_of = time.astimezone(UTC)


class FastClock:
    """Runs faster than the machine's clock, for a rehearsal; processes with the same arguments have the same time."""

    def __init__(self, start: datetime, speed: float, start_time: float | None = None) -> None:
        """Start at a time, with `speed` seconds per second of the machine; `start_time` is its time then (None: now)."""
        if start.tzinfo is None:
            raise ValueError("the start must have a time zone")
        if not speed > 0:
            raise ValueError("the clock's speed must be greater than 0")
        self.start = start.astimezone(UTC)
        self.speed = speed
        self.began = time.time() if start_time is None else start_time

    def now(self) -> datetime:
        """Return its time."""
        return self.start + timedelta(seconds=(time.time() - self.began) * self.speed)

    def as_of(self) -> datetime:
        """Return the same as `now`."""
        return self.now()

    async def sleep(self, seconds: float) -> None:
        """Return after that many of its seconds."""
        await asyncio.sleep(seconds / self.speed)
