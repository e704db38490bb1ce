"""Keeping idle executions off the cores on which a lab's command runs, where their priority alone does not do that."""

import os
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sandbox import Lease


@dataclass(frozen=True)
class PauseSignal:
    """Asks a supervisor in another thread to pause its program, and to let it go on."""

    descriptor: int
    """That of an event which happens whenever the answer may have changed, and at the start."""
    wanted: Callable[[], bool]
    """Returns whether the program is to stand still."""


class QuietCores:
    """The cores that commands of labs have for themselves, and the idle executions that wait for them."""

    def __init__(self) -> None:
        """Begin with none."""
        self._lock = threading.Lock()
        self._leases: list[Lease] = []
        self._events: set[int] = set()

    @contextmanager
    def keep(self, lease: Lease) -> Iterator[None]:
        """Keep the cores of a lease quiet until the end."""
        self._change(self._leases.append, lease)
        try:
            yield
        finally:
            self._change(self._leases.remove, lease)

    @contextmanager
    def signal(self, lease: Lease) -> Iterator[PauseSignal]:
        """Give the signal to an idle execution on these cores."""
        event = os.eventfd(1)
        with self._lock:
            self._events.add(event)
        try:
            yield PauseSignal(event, lambda: any(_overlap(lease.cpus, busy.cpus) for busy in list(self._leases)))
        finally:
            with self._lock:
                self._events.remove(event)
            os.close(event)

    def _change(self, change: Callable[[Lease], None], lease: Lease) -> None:
        with self._lock:
            change(lease)
            for event in self._events:
                os.eventfd_write(event, 1)


def _overlap(first: Collection[int], second: Collection[int]) -> bool:
    """Return whether leases share a core; no numbers stand for any core."""
    return not first or not second or not set(first).isdisjoint(second)
