"""A run's leases: the cores and GPUs that an execution holds while it runs, and how long it may wait for them."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace

from bot.execution.stopwatch import Stopwatch
from sandbox import ExecutionRequest, Lease
from sandbox.lab import LabPlace
from sandbox.leases import Leases

_SHORTEST = 5.0
"""Seconds that an execution may wait, and then run, even if the run's time is over."""


@dataclass(eq=False)
class HeldLease:
    """A lease with what gives it back."""

    lease: Lease
    source: Leases
    stack: AsyncExitStack
    users: int = 0
    """Executions in idle time that share it."""


@dataclass(frozen=True)
class RunLeases:
    """Leases cores and GPUs to the executions of one run."""

    leases: Leases
    cpus: int
    gpus: int
    seconds_left: Callable[[], float]
    """Returns the seconds that the run has left, the longest that an execution waits."""
    stopwatch: Stopwatch
    say: Callable[[str], None]
    memory_bytes: int = 0
    share_after: float = math.inf
    """Seconds that the run may wait for cores; then it takes those that are free, or shares one."""
    of_labs: list[Lease] = field(default_factory=list, compare=False)
    """What open labs hold; work in idle time shares it."""
    of_idle_work: list[HeldLease] = field(default_factory=list, compare=False)
    """What work in idle time holds by itself, as no lab is open; the next lab that opens takes it over."""
    sharing: asyncio.Lock = field(default_factory=asyncio.Lock, compare=False)
    """Held while a lab or work in idle time looks for a lease to share, or waits for one of its own."""

    @property
    def local(self) -> "RunLeases":
        """Leases of this machine, where a fleet's are leased: for what runs here nevertheless."""
        return replace(self, leases=self.leases.here)

    @asynccontextmanager
    async def hold(self, longest: float | None = None, lab: LabPlace | None = None) -> AsyncIterator[Lease]:
        """Hold a lease; waiting for it is measured as `waiting`, as neither an execution nor overhead.

        Without `longest` seconds it waits while the run has time. `lab` says where the lab is whose commands it is
        for; None: it is for a script.

        Raises InfrastructureFailure: no core came free in time.
        """
        waits: list[str] = []

        def say(message: str) -> None:
            waits.append(message)
            self.say(message)

        async with AsyncExitStack() as stack:
            with self.stopwatch.measure("waiting"):
                seconds = max(_SHORTEST, self.seconds_left()) if longest is None else longest
                request = self.leases.hold(
                    self.cpus,
                    self.gpus,
                    seconds=seconds,
                    say=say,
                    memory_bytes=self.memory_bytes,
                    lab=lab,
                    share_after=max(0.0, self.share_after - self.stopwatch.seconds_of("waiting")),
                )
                lease = await stack.enter_async_context(request)
            if waits and waits[-1].startswith("waiting"):
                self.say("running, after " + waits[-1].partition(",")[0])
            try:
                yield lease
            finally:
                with self.stopwatch.measure("waiting"):  # until the memory of its GPUs is free
                    await stack.aclose()

    @asynccontextmanager
    async def hold_idle(self) -> AsyncIterator[Lease]:
        """Share the cores of an open lab, without its GPUs, for work in idle time; without such a lab, hold a lease.

        All such work shares one lease. A lab that opens meanwhile takes it over, so that its coder waits for nothing.

        Raises InfrastructureFailure: no lab is open, and no lease came free in time.
        """
        own_lease: HeldLease | None = None
        async with self.sharing:
            shared = next((lease for lease in self.of_labs if not lease.lost), None)
            if shared is None:
                # A node's slot runs one at a time.
                is_local = self.leases is self.leases.here
                own_lease = next((h for h in self.of_idle_work if is_local and not h.lease.lost), None)
                if own_lease is None:
                    own_lease = await self._acquire()
                    self.of_idle_work.append(own_lease)
                own_lease.users += 1
                shared = own_lease.lease
            lease = shared if own_lease is not None and own_lease.users == 1 else replace(shared, gpus=())
        try:
            yield lease
        finally:
            if own_lease is not None:
                own_lease.users -= 1
                if not own_lease.users and own_lease in self.of_idle_work:
                    self.of_idle_work.remove(own_lease)
                    await own_lease.stack.aclose()

    async def hold_for_lab(self, place: LabPlace, *, elsewhere: bool) -> HeldLease:
        """Return a lease for a lab, which closes its stack: one that work in idle time holds, or a new one.

        A lab that may live on another machine (`elsewhere`) shares its lease with nothing.

        Raises InfrastructureFailure: no core came free in time.
        """
        if elsewhere:
            return await self._acquire(place)
        async with self.sharing:
            idle_lease = next((h for h in self.of_idle_work if h.source is self.leases and not h.lease.lost), None)
            if idle_lease is not None:
                self.of_idle_work.remove(idle_lease)
            lab_lease = idle_lease or await self._acquire(place)
            self.of_labs.append(lab_lease.lease)
        return lab_lease

    async def _acquire(self, lab: LabPlace | None = None) -> HeldLease:
        stack = AsyncExitStack()
        return HeldLease(await stack.enter_async_context(self.hold(lab=lab)), self.leases, stack)

    def leased(self, request: ExecutionRequest, lease: Lease) -> ExecutionRequest:
        """Return the request with its lease, and with no more time than the run has left."""
        seconds = min(request.limits.seconds, max(_SHORTEST, self.seconds_left()))
        return replace(request, lease=lease, limits=replace(request.limits, seconds=seconds))
