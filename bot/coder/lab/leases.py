"""A lab's lease: the cores and GPUs that its commands, background processes and scored scripts share while any of them runs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from bot.execution.leasing import Leasing
from sandbox import Lease
from sandbox.lab import LabPlace


@dataclass
class _Held:
    """A lease while somebody needs it."""

    lease: Lease
    stack: AsyncExitStack
    users: int = 0


class LabLease:
    """Held as long as anybody needs it, and waited for only by the first: what a lab runs side by side shares its cores."""

    def __init__(self, leasing: Leasing, *, here: bool = False) -> None:
        """Take the run's leases, and whether the lab stays on this machine though scripts run on a fleet."""
        self._leasing = leasing.here if here else leasing
        self.shared_with_scores = self._leasing.leases is leasing.leases
        """Whether scripts that are scored share it; on a fleet those of a lab that is here run in slots of their own."""
        self.elsewhere = self._leasing.leases is not self._leasing.leases.here
        """Whether the lab lives on a node of a fleet."""
        self.place = LabPlace()
        self._lock = asyncio.Lock()
        self._held: _Held | None = None

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[Lease]:
        """Hold it; raises as `Leasing.hold`. One that is lost with its node stays with those who had it."""
        async with self._lock:
            held = self._held
            if held is None or held.lease.lost:
                stack = AsyncExitStack()
                held = self._held = _Held(await stack.enter_async_context(self._leasing.hold(lab=self.place)), stack)
            held.users += 1
        try:
            yield held.lease
        finally:
            held.users -= 1
            if held.users == 0:
                self._held = None if self._held is held else self._held
                await held.stack.aclose()
