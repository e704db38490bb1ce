"""Sessions of a run: their time is told apart from overhead."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from bot.budgets.charging import Meter
from bot.runs.stopwatch import Stopwatch
from sandbox import CellResult, ExecutionRequest, Sandbox, Session
from state.store import Store


@asynccontextmanager
async def timed_session(
    sandbox: Sandbox, request: ExecutionRequest, stopwatch: Stopwatch, store: Store, meter: Meter
) -> AsyncIterator[Session]:
    """Open a session whose start, cells and end are measured; while it waits for the next cell, others' time runs.

    Its GPUs are charged when it has ended.

    Raises:
        UsageError: A Python package is missing.
        InfrastructureFailure: No kernel can be started here.
    """
    async with AsyncExitStack() as stack:
        with stopwatch.measure("sessions"):
            session = await stack.enter_async_context(sandbox.session(request))
        try:
            yield _Timed(session, stopwatch)
        finally:
            try:
                with stopwatch.measure("sessions"):
                    await stack.aclose()
            finally:
                with store.write() as tx:
                    meter.charge_gpus(tx)


class _Timed:
    """A session beside a stopwatch."""

    def __init__(self, session: Session, stopwatch: Stopwatch) -> None:
        self._session = session
        self._stopwatch = stopwatch

    @property
    def seconds_left(self) -> float:
        """Seconds of the session's own time that are left."""
        return self._session.seconds_left

    async def run(self, cell: str, seconds: float) -> CellResult:
        """Run one cell; see `sandbox.Session.run`."""
        with self._stopwatch.measure("sessions"):
            return await self._session.run(cell, seconds)
