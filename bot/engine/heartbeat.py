"""A run's heartbeat: what its stopwatch shows is written down every few seconds, for the next start to go on from."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, replace

from sqlmodel import col, select

from bot.execution.stopwatch import Measured, Stopwatch
from state.errors import InfrastructureFailure
from state.store import Store
from state.tables import Event

INTERVAL = 15.0
"""Seconds: so much of a run's time is forgotten at the most when the bot is killed."""
_TYPE = "run.beat"


def last_beat(store: Store, run_id: str) -> Measured:
    """Return what the run's stopwatch showed when it was last looked at; zeros for a new run.

    That is its last beat, and the time from there to the last event of the same start of the bot.
    """
    of_run = select(Event).where(Event.run_id == run_id).order_by(col(Event.seq).desc()).limit(1)
    with store.read() as session:
        last = session.exec(of_run).first()
        known = session.exec(of_run.where(col(Event.type).in_([_TYPE, "run.created", "run.resumed"]))).first()
        beat = session.exec(of_run.where(Event.type == _TYPE)).first()
    measured = Measured(**beat.data) if beat is not None else Measured()
    if last is None or known is None:
        return measured
    # A clock may jump; what happens between two beats may not take longer than that.
    since = min(max(0.0, (last.at - known.at).total_seconds()), 2 * INTERVAL)
    return replace(measured, wall=measured.wall + since)


@asynccontextmanager
async def beating(store: Store, run_id: str, stopwatch: Stopwatch) -> AsyncIterator[None]:
    """Write the stopwatch down now, at intervals while this lasts, and at its end."""

    async def beat() -> None:
        while True:
            await asyncio.sleep(INTERVAL)
            # Where the state cannot be written now, the work itself says so.
            with contextlib.suppress(InfrastructureFailure):
                _write_down(store, run_id, stopwatch)

    # At once: else what earlier starts had measured would be lost with a start that is killed before its first beat.
    _write_down(store, run_id, stopwatch)
    task = asyncio.create_task(beat())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        with contextlib.suppress(InfrastructureFailure):
            _write_down(store, run_id, stopwatch)


def _write_down(store: Store, run_id: str, stopwatch: Stopwatch) -> None:
    with store.write() as tx:
        tx.record(_TYPE, run_id=run_id, **asdict(stopwatch.read()))
