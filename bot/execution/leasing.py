"""A run's leases: what each of its executions holds while it runs, and how long it may wait for it."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

from bot.execution.stopwatch import Stopwatch
from sandbox import ExecutionRequest, Lease
from sandbox.leases import Leases

_SHORTEST = 5.0
"""Seconds that anything may wait, and then run, when the run's time is over all the same."""


@dataclass(frozen=True)
class Leasing:
    """How the executions of one run come to cores and GPUs of their own."""

    leases: Leases
    cpus: int
    gpus: int
    left: Callable[[], float]
    """Returns the seconds that the run has left, beyond which nobody waits."""
    stopwatch: Stopwatch
    say: Callable[[str], None]

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[Lease]:
        """Hold a lease; the time that it is waited for is the run's, but neither an execution's nor overhead.

        Raises:
            InfrastructureFailure: None came free while the run had time.
        """
        told: list[str] = []

        def say(what: str) -> None:
            told.append(what)
            self.say(what)

        async with AsyncExitStack() as stack:
            with self.stopwatch.measure("waiting"):
                held = self.leases.hold(self.cpus, self.gpus, seconds=max(_SHORTEST, self.left()), say=say)
                lease = await stack.enter_async_context(held)
            if told:
                self.say("running, after " + told[-1])
            try:
                yield lease
            finally:
                with self.stopwatch.measure("waiting"):  # for the memory of its GPUs
                    await stack.aclose()

    def leased(self, request: ExecutionRequest, lease: Lease) -> ExecutionRequest:
        """Return the request with its lease, and no more time than the run has left after waiting for it."""
        seconds = min(request.limits.seconds, max(_SHORTEST, self.left()))
        return replace(request, lease=lease, limits=replace(request.limits, seconds=seconds))
