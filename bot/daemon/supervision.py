"""Supervision: loops that shall run for as long as the daemon does; one that fails is started again, and takes no other down."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random

from bot.daemon.failures import record_failure, words_of
from state.errors import KeepsFailing, StateCorrupted, StateUnavailable
from state.store import Store

__all__ = ["Supervisor", "SupervisorSettings"]

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class SupervisorSettings:
    """How patient the supervisor is, all in real seconds."""

    first_pause: float = 1.0
    """Before a loop that failed is started again; it doubles with each failure in a row."""
    longest_pause: float = 60.0
    healthy_seconds: float = 300.0
    """A loop that ran for so long was well: its failures are counted anew."""
    most_failures: int = 5
    """In a row, with which it is given up."""
    stop_seconds: float = 20.0
    """How long a loop may take to end when it is cancelled."""


@dataclass
class _Loop:
    name: str
    start: Callable[[], Awaitable[None]]
    failures: int = 0
    """In a row."""
    own: int = 0
    """Of these, those that the database was not to blame for."""
    began: float = 0.0
    """When it was started, by the machine's monotonic clock."""
    task: asyncio.Task[None] = field(init=False)


class Supervisor:
    """Runs loops; those that return are done, those that raise are started again after a pause."""

    def __init__(
        self, store: Store, settings: SupervisorSettings | None = None, *, random: Random | None = None
    ) -> None:
        """Make one; `run` starts what was added.

        Args:
            store: where failures become events `loop.failed` of no run.
            settings: bounds.
            random: spreads the pauses.
        """
        self._store = store
        self._settings = settings or SupervisorSettings()
        self._random = random or Random()  # noqa: S311 - spreads starts in time
        self._loops: dict[str, _Loop] = {}
        self._over: asyncio.Future[None] | None = None

    @property
    def loops(self) -> tuple[str, ...]:
        """The names of those that have not returned, in the order in which they were added."""
        return tuple(self._loops)

    def add(self, name: str, start: Callable[[], Awaitable[None]]) -> None:
        """Add a loop; while `run` runs, it is started at once.

        Args:
            name: of its own.
            start: called for each start of it.

        Raises:
            ValueError: there is one of this name that has not returned.
        """
        if name in self._loops:
            raise ValueError(f"there is a loop {name} already")
        loop = self._loops[name] = _Loop(name, start)
        if self._over is not None:
            self._start(loop)

    async def remove(self, name: str) -> None:
        """Cancel a loop, and return when it has ended; one that is not there is as good as removed."""
        loop = self._loops.get(name)
        if loop is None:
            return
        if self._over is None:
            del self._loops[name]
            return
        await self._cancel(loop)

    async def run(self) -> None:
        """Run the loops until all have returned; cancelled, it stops them, the last added first, each before the next.

        Raises:
            KeepsFailing: one failed too often; the others were stopped in order.
            StateCorrupted: one found the database damaged.
        """
        self._over = asyncio.get_running_loop().create_future()
        try:
            for loop in list(self._loops.values()):
                self._start(loop)
            if self._loops:
                await self._over
        finally:
            for loop in reversed(list(self._loops.values())):
                await self._cancel(loop)
            self._over = None

    def _start(self, loop: _Loop) -> None:
        loop.task = asyncio.create_task(self._keep(loop), name=f"loop {loop.name}")
        loop.task.add_done_callback(lambda task: self._ended(loop, task))

    def _ended(self, loop: _Loop, task: asyncio.Task[None]) -> None:
        if self._loops.get(loop.name) is loop:
            del self._loops[loop.name]
        error = None if task.cancelled() else task.exception()
        if self._over is None or self._over.done():
            return
        if error is not None:
            self._over.set_exception(error)
        elif not self._loops:
            self._over.set_result(None)

    async def _cancel(self, loop: _Loop) -> None:
        loop.task.cancel()
        done, _ = await asyncio.wait([loop.task], timeout=self._settings.stop_seconds)
        if not done:
            _LOG.error("the loop %s does not end", loop.name)

    async def _keep(self, loop: _Loop) -> None:
        """Run a loop until it returns, is cancelled, or is given up."""
        while True:
            loop.began = time.monotonic()
            try:
                await loop.start()
                return
            except (KeyboardInterrupt, StateCorrupted):
                raise
            except BaseException as error:
                # A supervision boundary. SystemExit too, which a library may raise: it would end the event loop.
                current = asyncio.current_task()
                is_cancelled = current is not None and current.cancelling() > 0
                if is_cancelled and isinstance(error, asyncio.CancelledError):
                    raise
                self._count(loop, error)
                self._keep_event(loop, error)
                if is_cancelled:
                    raise
                self._give_up_in_the_end(loop, error)
            await asyncio.sleep(self._pause(loop))

    def _is_well(self, loop: _Loop) -> bool:
        return time.monotonic() - loop.began >= self._settings.healthy_seconds

    def _count(self, loop: _Loop, error: BaseException) -> None:
        if self._is_well(loop):
            loop.failures = loop.own = 0
        loop.failures += 1
        # A database that cannot be used is no fault of the loop's, and a new process could not use it either.
        loop.own += not isinstance(error, StateUnavailable)

    def _keep_event(self, loop: _Loop, error: BaseException) -> None:
        try:
            with self._store.write() as tx:
                record_failure(tx, "loop.failed", error, loop=loop.name, failures=loop.failures)
        except StateUnavailable as trouble:
            _LOG.error("the loop %s failed (%s), which cannot be kept: %s", loop.name, words_of(error), trouble)

    def _give_up_in_the_end(self, loop: _Loop, error: BaseException) -> None:
        if loop.own >= self._settings.most_failures:
            told = f"the loop {loop.name} failed {loop.own} times in a row, the last: {words_of(error)}"
            raise KeepsFailing(told) from error

    def _pause(self, loop: _Loop) -> float:
        settings = self._settings
        # Of a bounded power: a float ends at 2**1024.
        pause = min(settings.first_pause * 2.0 ** min(loop.failures - 1, 64), settings.longest_pause)
        return pause * self._random.uniform(0.5, 1.0)
