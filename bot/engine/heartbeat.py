"""A run's heartbeat: its stopwatch is stored every few seconds, for a restart to continue from."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, replace

from sqlmodel import col, select

from bot.execution.stopwatch import Stopwatch, StopwatchReading
from state.errors import InfrastructureFailure
from state.store import Store
from state.tables import Event

INTERVAL = 15.0
"""Seconds; the maximum time of a run that a kill loses."""
_TYPE = "run.beat"


def last_heartbeat(store: Store, run_id: str) -> StopwatchReading:
    """Return the last known reading of the run's stopwatch; zeros for a new run.

    That is its last heartbeat plus the time from there to the last event before the bot ended.
    """
    of_run = select(Event).where(Event.run_id == run_id).order_by(col(Event.seq).desc()).limit(1)
    with store.read() as session:
        last = session.exec(of_run).first()
        start = session.exec(of_run.where(col(Event.type).in_([_TYPE, "run.created", "run.resumed"]))).first()
        beat = session.exec(of_run.where(Event.type == _TYPE)).first()
    reading = StopwatchReading(**beat.data) if beat is not None else StopwatchReading()
    if last is None or start is None:
        return reading
    # The clock may have jumped; between two beats no more time than this can pass.
    since = min(max(0.0, (last.at - start.at).total_seconds()), 2 * INTERVAL)
    return replace(reading, wall=reading.wall + since)


@asynccontextmanager
async def record_heartbeats(store: Store, run_id: str, stopwatch: Stopwatch) -> AsyncIterator[None]:
    """Store the stopwatch now, at intervals while the context lasts, and at its end."""

    async def beat() -> None:
        while True:
            await asyncio.sleep(INTERVAL)
            # If the state cannot be written now, the run's own writes report it.
            with contextlib.suppress(InfrastructureFailure):
                _record(store, run_id, stopwatch)

    # At once: if this start were killed before its first heartbeat, the readings of earlier ones would be lost.
    _record(store, run_id, stopwatch)
    task = asyncio.create_task(beat())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        with contextlib.suppress(InfrastructureFailure):
            _record(store, run_id, stopwatch)


def _record(store: Store, run_id: str, stopwatch: Stopwatch) -> None:
    with store.write() as tx:
        tx.record(_TYPE, run_id=run_id, **asdict(stopwatch.read()))
