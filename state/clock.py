"""The clock that every timer, schedule and query asks."""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """What time it is, and up to when the world may be known."""

    def now(self) -> datetime:
        """Return the current time, aware UTC; it runs."""
        ...

    def as_of(self) -> datetime:
        """Return the time up to which posts, votes and scores may be known, aware UTC."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after that many seconds of this clock."""
        ...


class SystemClock:
    """The machine's clock; what may be known is what is known now."""

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
            raise ValueError("the cutoff must be an aware time")
        self._cutoff = cutoff.astimezone(UTC)

    def as_of(self) -> datetime:
        """Return the cutoff."""
        return self._cutoff


class StreamClock(SystemClock):
    """Runs in real time, while what may be known moves from a start towards a cutoff when it is told to, and never back."""

    def __init__(self, start: datetime, cutoff: datetime) -> None:
        """Stand at the start.

        Raises:
            ValueError: a time is naive, or the cutoff is before the start.
        """
        if start.tzinfo is None or cutoff.tzinfo is None:
            raise ValueError("the start and the cutoff must be aware times")
        if cutoff < start:
            raise ValueError("the cutoff is not before the start")
        self.start = start.astimezone(UTC)
        self.cutoff = cutoff.astimezone(UTC)
        self._as_of = self.start

    def as_of(self) -> datetime:
        """Return how far it has come."""
        return self._as_of

    def at(self, share: float) -> datetime:
        """Return the time at a share of its way, 0 to 1, in whole seconds as posts have them."""
        if share >= 1.0:
            return self.cutoff
        way = (self.cutoff - self.start).total_seconds()
        return self.start + timedelta(seconds=int(way * max(0.0, share)))

    def move(self, to: datetime) -> None:
        """Go on to a time.

        Raises:
            ValueError: it lies behind, or after the cutoff.
        """
        if not self._as_of <= to <= self.cutoff:
            raise ValueError(f"the clock stands at {self._as_of} and ends at {self.cutoff}: it does not move to {to}")
        self._as_of = to.astimezone(UTC)


class FastClock:
    """Runs some times faster than the machine's, for a rehearsal; as every process that is told the same has the same time."""

    def __init__(self, start: datetime, speed: float, began: float | None = None) -> None:
        """Start it.

        Args:
            start: Its time at the beginning.
            speed: Its seconds in one of the machine's, above 0.
            began: When that was, as the machine's `time.time()`; None is now.
        """
        if start.tzinfo is None:
            raise ValueError("the start must be an aware time")
        if not speed > 0:
            raise ValueError("a clock's speed is above 0")
        self.start = start.astimezone(UTC)
        self.speed = speed
        self.began = time.time() if began is None else began

    def now(self) -> datetime:
        """Return its time."""
        return self.start + timedelta(seconds=(time.time() - self.began) * self.speed)

    def as_of(self) -> datetime:
        """Return the same as `now`."""
        return self.now()

    async def sleep(self, seconds: float) -> None:
        """Return after that many of its seconds."""
        await asyncio.sleep(seconds / self.speed)
