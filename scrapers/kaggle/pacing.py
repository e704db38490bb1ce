"""The pace of requests to Kaggle: a token bucket and a circuit breaker for each family of calls, and a daily cap."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Protocol

from scrapers.kaggle.settings import Pace
from state.breaker import Breaker
from state.clock import Clock, midnight
from state.errors import RateLimited

READING = frozenset(("forum", "kernels", "outputs", "search"))
"""Families of calls that read what others wrote: they never touch the part of the day's requests that is reserved."""


class Meter(Protocol):
    """Counts requests across restarts."""

    def admit(self, day: date, family: str, limit: int) -> bool:
        """Count one more request of a family, unless the day has seen `most` over all families; return whether it was counted."""
        ...


class Tally:
    """A meter in memory; for the few requests of `bot doctor`."""

    def __init__(self) -> None:
        self._counts: dict[date, int] = {}

    def admit(self, day: date, family: str, limit: int) -> bool:
        """Count one more, unless there are too many; see `Meter.admit`."""
        before = self._counts.get(day, 0)
        self._counts[day] = before + (before < limit)
        return before < limit


@dataclass
class _Bucket:
    per_second: float
    burst: float
    tokens: float
    at: datetime

    def take(self, now: datetime) -> float:
        """Take one token, perhaps in advance, and return the seconds until it is available."""
        seconds = max(0.0, (now - self.at).total_seconds())  # the clock may have been set back
        self.tokens = min(self.burst, self.tokens + seconds * self.per_second) - 1.0
        self.at = now
        return max(0.0, -self.tokens / self.per_second)


@dataclass
class _Family:
    bucket: _Bucket
    breaker: Breaker


@dataclass
class Pacing:
    """Lets requests through one by one; a failing family does not affect the others."""

    pace: Pace
    clock: Clock
    meter: Meter
    _families: dict[str, _Family] = field(default_factory=dict, init=False)
    _last: datetime | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._places = asyncio.Semaphore(self.pace.max_concurrent)
        self._turn = asyncio.Lock()

    def breaker(self, family: str) -> Breaker:
        """Return a family's breaker, which callers inform of the outcome of calls."""
        return self._family(family).breaker

    @asynccontextmanager
    async def request(self, family: str) -> AsyncIterator[None]:
        """Wait for a request's turn, count it, and hold its place. Raises RateLimited, without a request, at the daily cap."""
        await self._sleep(self._family(family).bucket.take(self.clock.now()))
        async with self._places:
            async with self._turn:
                if self._last is not None:
                    since = (self.clock.now() - self._last).total_seconds()
                    await self._sleep(self.pace.min_interval - since if since >= 0 else 0.0)
                self._count(family)
                self._last = self.clock.now()
            yield

    def ensure_admitted(self, family: str) -> None:
        """Raise RateLimited while the family's breaker is open."""
        breaker = self.breaker(family)
        if not breaker.admits():
            error = RateLimited(
                f"requests to Kaggle ({family}) are paused for {breaker.remaining_seconds:.0f} s after a failure"
            )
            error.wait = breaker.remaining_seconds
            raise error

    def _count(self, family: str) -> None:
        now = self.clock.now().astimezone(UTC)
        reserved = self.pace.reserved if family in READING else 0.0
        limit = int(self.pace.per_day * (1 - reserved))
        if not self.meter.admit(now.date(), family, limit):
            kind = "for forums and notebooks" if reserved else "to Kaggle"
            error = RateLimited(f"today's limit of {limit:,} requests {kind} has been reached; it resets at 00:00 UTC")
            error.wait = (midnight(now, 1) - now).total_seconds()
            raise error

    def _family(self, name: str) -> _Family:
        if name not in self._families:
            pace = self.pace
            bucket = _Bucket(pace.per_minute / 60.0, float(pace.burst), float(pace.burst), self.clock.now())
            breaker = Breaker(self.clock, initial_cooldown=pace.initial_cooldown, max_cooldown=pace.max_cooldown)
            self._families[name] = _Family(bucket, breaker)
        return self._families[name]

    async def _sleep(self, seconds: float) -> None:
        if seconds > 0:
            await self.clock.sleep(seconds)
