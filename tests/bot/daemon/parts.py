"""What the tests of workers and loops share: waiting for something that is sure to come, and a clock that can be put."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Any

from bot.daemon.workers import Workers, WorkerSettings
from bot.notify.outbox import NO_RUN
from state.clock import SystemClock
from state.store import Store
from state.tables import Task
from state.tasks import put_task

LONGEST = 30.0
"""Real seconds after which what is waited for will not come."""
QUICK = WorkerSettings(
    idle_seconds=0.05, database_pause=0.02, cancel_seconds=1.0, initial_pause=0.02, max_pause=0.05, min_pause=0.01
)


class PutClock(SystemClock):
    """The machine's clock, put forward or back as a test wants."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def now(self) -> Any:
        return super().now() + self.ahead

    def put(self, seconds: float) -> None:
        self.ahead += timedelta(seconds=seconds)


async def until(is_so: Callable[[], bool]) -> None:
    """Return as soon as something is so."""
    async with asyncio.timeout(LONGEST):
        while not is_so():
            await asyncio.sleep(0.005)


@asynccontextmanager
async def started(workers: Workers) -> AsyncIterator[Workers]:
    """Have workers run, and break them off in the end."""
    running = asyncio.create_task(workers.run())
    try:
        yield workers
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


def put(store: Store, *keys: str, seconds: float = 0.0) -> None:
    """Put tasks such as `poll:titanic:1` into the queue: kind, competition, and whatever else."""
    with store.write(durable=False) as tx:
        for key in keys:
            kind, competition, *_ = key.split(":")
            assert put_task(tx, key, kind, competition=competition, due_at=tx.now() + timedelta(seconds=seconds))


def row(store: Store, key: str) -> Task:
    """Return a task as it stands."""
    with store.read() as session:
        return session.get_one(Task, key)


def status(store: Store, key: str) -> str:
    """Return where a task stands."""
    return row(store, key).status


def events_of(store: Store, type: str) -> list[dict[str, Any]]:
    """Return the events of no run that are of a type."""
    return [event for event in store.export_events(NO_RUN) if event["type"] == type]
