"""A run's leases: the cores and GPUs that an execution holds while it runs, and how long it may wait for them."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

from bot.execution.stopwatch import Stopwatch
from sandbox import ExecutionRequest, Lease
from sandbox.lab import LabPlace
from sandbox.leases import Leases

_SHORTEST = 5.0
"""Seconds that an execution may wait, and then run, even if the run's time is over."""


@dataclass(frozen=True)
class Leasing:
    """Leases cores and GPUs to the executions of one run."""

    leases: Leases
    cpus: int
    gpus: int
    left: Callable[[], float]
    """Returns the seconds that the run has left, the longest that an execution waits."""
    stopwatch: Stopwatch
    say: Callable[[str], None]
    memory_bytes: int = 0
    """That an execution may use."""

    @property
    def here(self) -> "Leasing":
        """Leases of this machine, where a fleet's are leased: for what runs here nevertheless."""
        return replace(self, leases=self.leases.here)

    @asynccontextmanager
    async def hold(self, longest: float | None = None, lab: LabPlace | None = None) -> AsyncIterator[Lease]:
        """Hold a lease; waiting for it is measured as `waiting`, as neither an execution nor overhead.

        Args:
            longest: seconds to wait for it at most; None: while the run has time.
            lab: the place of the lab whose commands it is for; None: it is for a script.

        Raises:
            InfrastructureFailure: none came free in time.
        """
        waits: list[str] = []

        def say(what: str) -> None:
            waits.append(what)
            self.say(what)

        async with AsyncExitStack() as stack:
            with self.stopwatch.measure("waiting"):
                seconds = max(_SHORTEST, self.left()) if longest is None else longest
                held = self.leases.hold(
                    self.cpus, self.gpus, seconds=seconds, say=say, memory_bytes=self.memory_bytes, lab=lab
                )
                lease = await stack.enter_async_context(held)
            if waits:
                self.say("running, after " + waits[-1].partition(",")[0])
            try:
                yield lease
            finally:
                with self.stopwatch.measure("waiting"):  # until the memory of its GPUs is free
                    await stack.aclose()

    def leased(self, request: ExecutionRequest, lease: Lease) -> ExecutionRequest:
        """Return the request with its lease, and with no more time than the run has left."""
        seconds = min(request.limits.seconds, max(_SHORTEST, self.left()))
        return replace(request, lease=lease, limits=replace(request.limits, seconds=seconds))
