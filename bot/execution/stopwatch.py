"""A run's wall time by kind of work; the rest is our own overhead."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True)
class StopwatchReading:
    """A stopwatch's reading: seconds of wall time, of measured work, of training, and of each kind of work."""

    wall: float = 0.0
    busy: float = 0.0
    by_kind: Mapping[str, float] = field(default_factory=dict)
    training: float = 0.0


class _Union:
    """Adds up the seconds in which anything is open."""

    def __init__(self, before: float) -> None:
        self._seconds, self._open, self._since = before, 0, 0.0

    def begin(self, now: float) -> None:
        if self._open == 0:
            self._since = now
        self._open += 1

    def end(self, now: float) -> None:
        self._open -= 1
        if self._open == 0:
            self._seconds += now - self._since

    def read(self) -> float:
        return self._seconds + (time.monotonic() - self._since if self._open else 0.0)


_TRAINING = ("executions", "commands")
"""Kinds of work in which scripts, or a lab's commands, run."""


class Stopwatch:
    """Adds up seconds by kind of work; overlapping spans count once in `busy`, and in `training`."""

    def __init__(self, before: StopwatchReading | None = None) -> None:
        """Begin with the reading of an earlier start of the bot."""
        before = before or StopwatchReading()
        self._started = time.monotonic() - before.wall
        self._by_kind = dict(before.by_kind)
        self._busy, self._training = _Union(before.busy), _Union(before.training)

    @contextmanager
    def measure(self, kind: str) -> Iterator[None]:
        """Count the time inside the context as that kind of work."""
        start = time.monotonic()
        unions = (self._busy, self._training) if kind in _TRAINING else (self._busy,)
        for union in unions:
            union.begin(start)
        try:
            yield
        finally:
            end = time.monotonic()
            for union in unions:
                union.end(end)
            self._by_kind[kind] = self._by_kind.get(kind, 0.0) + end - start

    def wall(self) -> float:
        """Return seconds since the run's start, without those between starts of the bot."""
        return time.monotonic() - self._started

    def seconds_of(self, kind: str) -> float:
        """Return seconds of one kind of work."""
        return self._by_kind.get(kind, 0.0)

    def overhead(self) -> float:
        """Return seconds without any measured work."""
        return max(0.0, self.wall() - self._busy.read())

    def training(self) -> float:
        """Return seconds in which a script, or a lab's command, was running."""
        return self._training.read()

    def read(self) -> StopwatchReading:
        """Return the current reading; unfinished work counts in `busy` and `training`, but by its kind only once it has ended."""
        return StopwatchReading(self.wall(), self._busy.read(), dict(self._by_kind), self._training.read())
