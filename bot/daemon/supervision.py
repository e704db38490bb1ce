"""Supervision: loops that run as long as the daemon; one that fails is started again, and takes no other down."""

import asyncio
import logging
import random
import time
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from state.clock import back_off
from state.errors import BotError, KeepsFailing, StateCorrupted, StateUnavailable
from state.store import NO_RUN, Store, Transaction

TRACE_CHARACTERS = 8_000
"""Only the end of a traceback is kept, which shows where the error was raised."""


def words_of(error: BaseException) -> str:
    """Return an error's message in one line; the type comes first if the error is not ours."""
    text = str(error) if isinstance(error, BotError) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())


def record_failure(tx: Transaction, type: str, error: BaseException, **fields: Any) -> None:
    """Record an error as an event of no run, with its traceback."""
    # Redacted before it is cut: otherwise half a secret could be left.
    trace = tx.redactor.text("".join(traceback.format_exception(error)))[-TRACE_CHARACTERS:]
    tx.record(type, run_id=NO_RUN, error=words_of(error), traceback=trace, **fields)


_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class SupervisorSettings:
    """How patient the supervisor is, all in real seconds."""

    initial_pause: float = 1.0
    """Before a loop that failed is started again; it doubles with each failure in a row."""
    max_pause: float = 60.0
    healthy_seconds: float = 300.0
    """A loop that ran this long was healthy: its failures are counted from zero again."""
    max_failures: int = 5
    """Failures in a row after which it is given up."""
    stop_seconds: float = 20.0
    """How long a loop may take to end when it is cancelled."""


class LoopSupervisor:
    """Runs loops; those that return are done, those that raise are started again after a pause."""

    def __init__(self, store: Store, settings: SupervisorSettings | None = None) -> None:
        """Set it up; failures become events `loop.failed` of no run in the store."""
        self._store = store
        self._settings = settings or SupervisorSettings()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._errors: list[BaseException] = []
        self._changed = asyncio.Event()

    @property
    def loops(self) -> tuple[str, ...]:
        """The names of the loops that have not returned, in the order of adding."""
        return tuple(self._tasks)

    def add(self, name: str, start: Callable[[], Awaitable[None]]) -> None:
        """Add a loop under a unique name and start it; `start` is called for each start.

        Raises ValueError: a loop with this name has not returned.
        """
        if name in self._tasks:
            raise ValueError(f"duplicate loop: {name}")
        task = self._tasks[name] = asyncio.create_task(self._keep(name, start), name=f"loop {name}")

        def on_end(task: asyncio.Task[None]) -> None:
            del self._tasks[name]
            if not task.cancelled() and (error := task.exception()) is not None:
                self._errors.append(error)
            self._changed.set()

        task.add_done_callback(on_end)

    async def remove(self, name: str) -> None:
        """Cancel a loop, and return when it has ended; does nothing if there is none."""
        task = self._tasks.get(name)
        if task is None:
            return
        task.cancel()
        finished, _ = await asyncio.wait([task], timeout=self._settings.stop_seconds)
        if not finished:
            _LOG.error("loop %s is not stopping", name)

    async def run(self) -> None:
        """Return when all loops have returned; if cancelled, stop them one by one, the last added first.

        Raises:
            KeepsFailing: one failed too often; the others were stopped in order.
            StateCorrupted: one found the database damaged.
        """
        try:
            while self._tasks and not self._errors:
                self._changed.clear()
                await self._changed.wait()
            if self._errors:
                raise self._errors[0]
        finally:
            for name in reversed(self.loops):
                await self.remove(name)

    async def _keep(self, name: str, start: Callable[[], Awaitable[None]]) -> None:
        """Run a loop until it returns, is cancelled, or is given up."""
        settings = self._settings
        # An unusable database is not the loop's fault, and a new process could not use it either.
        failures = own_failures = 0
        while True:
            started_at = time.monotonic()
            try:
                await start()
                return
            except (KeyboardInterrupt, StateCorrupted):
                raise
            except BaseException as error:
                # A supervision boundary. SystemExit, which a library may raise, would end the event loop.
                current = asyncio.current_task()
                is_cancelled = current is not None and current.cancelling() > 0
                if is_cancelled and isinstance(error, asyncio.CancelledError):
                    raise
                if time.monotonic() - started_at >= settings.healthy_seconds:
                    failures = own_failures = 0
                failures += 1
                own_failures += not isinstance(error, StateUnavailable)
                self._record(name, error, failures)
                if is_cancelled:
                    raise
                if own_failures >= settings.max_failures:
                    message = f"loop {name} failed {own_failures} times in a row, most recently: {words_of(error)}"
                    raise KeepsFailing(message) from error
            pause = back_off(failures, settings.initial_pause, settings.max_pause)
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - spreads starts in time

    def _record(self, name: str, error: BaseException, failures: int) -> None:
        try:
            with self._store.write() as tx:
                record_failure(tx, "loop.failed", error, loop=name, failures=failures)
        except StateUnavailable as unavailable:
            _LOG.error("loop %s failed (%s), but this could not be recorded: %s", name, words_of(error), unavailable)
