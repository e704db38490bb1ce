"""A lab's lease: the cores and GPUs that its commands, background processes and scored scripts share while any of them runs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from bot.execution.leasing import Leasing
from sandbox import Lease
from sandbox.lab import LabPlace


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
        self._held = AsyncExitStack()
        self._lease: Lease | None = None
        self._users = 0

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[Lease]:
        """Hold it; raises as `Leasing.hold`."""
        async with self._lock:
            if self._lease is None:
                self._lease = await self._held.enter_async_context(self._leasing.hold(lab=self.place))
            self._users += 1
        try:
            yield self._lease
        finally:
            self._users -= 1
            if self._users == 0:
                held, self._held, self._lease = self._held, AsyncExitStack(), None
                await held.aclose()
