"""The clock that every timer, schedule and query asks."""

import asyncio
from datetime import UTC, datetime
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
