"""A lab's lease: the cores and GPUs that are its own from its opening to its close."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bot.execution.leasing import HeldLease, Leasing
from sandbox import Lease
from sandbox.lab import LabPlace


class LabLease:
    """Held while anybody needs it; only the first one waits for it. The lab itself needs it as long as it is open."""

    def __init__(self, leasing: Leasing, *, here: bool = False) -> None:
        """Take the run's leases, and whether the lab stays on this machine though scripts run on a fleet."""
        self._leasing = leasing.here if here else leasing
        self.shared_with_scores = self._leasing.leases is leasing.leases
        """Whether scripts that are scored share it; on a fleet those of a lab that is here run in slots of their own."""
        self.elsewhere = self._leasing.leases is not self._leasing.leases.here
        """Whether the lab lives on a node of a fleet."""
        self.place = LabPlace()
        self._lock = asyncio.Lock()
        self._held: HeldLease | None = None
        self._users: dict[HeldLease, int] = {}

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[Lease]:
        """Hold it; raises as `Leasing.hold`. One that is lost with its node stays with those who had it."""
        async with self._lock:
            held = self._held
            if held is None or held.lease.lost:
                held = self._held = await self._leasing.hold_for_lab(self.place, elsewhere=self.elsewhere)
                self._users[held] = 0
            self._users[held] += 1
        try:
            yield held.lease
        finally:
            self._users[held] -= 1
            if not self._users[held]:
                del self._users[held]
                self._held = None if self._held is held else self._held
                if held.lease in self._leasing.of_labs:
                    self._leasing.of_labs.remove(held.lease)
                await held.stack.aclose()
