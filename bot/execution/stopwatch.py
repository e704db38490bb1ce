"""A run's wall time by kind of work; the rest is our own overhead."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Measured:
    """A stopwatch's reading: seconds of wall time, of measured work, and of each kind of work."""

    wall: float = 0.0
    busy: float = 0.0
    by_kind: Mapping[str, float] = field(default_factory=dict)


class Stopwatch:
    """Adds up seconds by kind of work; overlapping spans count once in `busy`."""

    def __init__(self, before: Measured | None = None) -> None:
        """Begin with the reading of an earlier start of the bot."""
        before = before or Measured()
        self._started = time.monotonic() - before.wall
        self._by_kind = dict(before.by_kind)
        self._open = 0
        self._busy = before.busy
        self._busy_since = 0.0

    @contextmanager
    def measure(self, kind: str) -> Iterator[None]:
        """Count the time inside the context as that kind of work."""
        start = time.monotonic()
        if self._open == 0:
            self._busy_since = start
        self._open += 1
        try:
            yield
        finally:
            end = time.monotonic()
            self._open -= 1
            if self._open == 0:
                self._busy += end - self._busy_since
            self._by_kind[kind] = self._by_kind.get(kind, 0.0) + end - start

    def wall(self) -> float:
        """Return seconds since the run's start, without those between starts of the bot."""
        return time.monotonic() - self._started

    def of(self, kind: str) -> float:
        """Return seconds of one kind of work."""
        return self._by_kind.get(kind, 0.0)

    def overhead(self) -> float:
        """Return seconds without any measured work."""
        return max(0.0, self.wall() - self._busy_now())

    def read(self) -> Measured:
        """Return the current reading; unfinished work counts in `busy`, but by its kind only once it has ended."""
        return Measured(self.wall(), self._busy_now(), dict(self._by_kind))

    def _busy_now(self) -> float:
        return self._busy + (time.monotonic() - self._busy_since if self._open else 0.0)
