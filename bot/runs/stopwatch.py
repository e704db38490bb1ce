"""Where a run's wall time goes; what is left over is our own overhead."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    """Adds up seconds by kind of work; spans may overlap, and then count once in `busy`."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._by_kind: dict[str, float] = {}
        self._open = 0
        self._busy = 0.0
        self._busy_since = 0.0

    @contextmanager
    def measure(self, kind: str) -> Iterator[None]:
        """Count the time inside as that kind of work."""
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
        """Return seconds since the start."""
        return time.monotonic() - self._started

    def of(self, kind: str) -> float:
        """Return seconds of one kind of work."""
        return self._by_kind.get(kind, 0.0)

    def overhead(self) -> float:
        """Return seconds in which nothing that has a name went on."""
        busy = self._busy + (time.monotonic() - self._busy_since if self._open else 0.0)
        return max(0.0, self.wall() - busy)
