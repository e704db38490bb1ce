"""Keeping idle executions off the cores that a lab's command or a sealed run needs, where their priority does not do that."""

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
        self._lock = threading.Lock()
        self._leases: list[tuple[Lease, bool]] = []
        self._events: set[int] = set()

    @contextmanager
    def keep(self, lease: Lease, *, from_all: bool = False) -> Iterator[None]:
        """Keep the cores of a lease quiet until the end: of executions that would be in the way, or of all idle ones."""
        self._change(self._leases.append, (lease, from_all))
        try:
            yield
        finally:
            self._change(self._leases.remove, (lease, from_all))

    @contextmanager
    def signal(self, lease: Lease, *, gives_way: bool) -> Iterator[PauseSignal]:
        """Give the signal to an idle execution on these cores; `gives_way` says that its priority keeps it out of the way."""
        event = os.eventfd(1)
        with self._lock:
            self._events.add(event)
        try:
            yield PauseSignal(
                event,
                lambda: any(
                    _overlap(lease.cpus, busy.cpus)
                    for busy, from_all in list(self._leases)
                    if from_all or not gives_way
                ),
            )
        finally:
            with self._lock:
                self._events.remove(event)
            os.close(event)

    def _change(self, change: Callable[[tuple[Lease, bool]], None], quiet: tuple[Lease, bool]) -> None:
        with self._lock:
            change(quiet)
            for event in self._events:
                os.eventfd_write(event, 1)


def _overlap(first: Collection[int], second: Collection[int]) -> bool:
    """Return whether leases share a core; no numbers stand for any core."""
    return not first or not second or not set(first).isdisjoint(second)
