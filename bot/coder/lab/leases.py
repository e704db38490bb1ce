"""A lab's lease, the cores and GPUs that are its own until it ends, and the sandbox that it runs in."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace

from bot.execution.executor import Executor
from bot.execution.leasing import HeldLease, RunLeases
from sandbox import Lease
from sandbox.lab import CommandResult, LabDied, LabHandle, LabPlace, LabRequest


class LabLease:
    """Held while anybody needs it; only the first one waits for it. The lab itself needs it as long as it is open."""

    def __init__(self, leasing: RunLeases, *, here: bool = False) -> None:
        """Take the run's leases, and whether the lab stays on this machine though scripts run on a fleet."""
        self._leasing = leasing.local if here else leasing
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
            lease_in_use = self._held
            if lease_in_use is None or lease_in_use.lease.lost:
                lease_in_use = self._held = await self._leasing.hold_for_lab(self.place, elsewhere=self.elsewhere)
                self._users[lease_in_use] = 0
            self._users[lease_in_use] += 1
        try:
            yield lease_in_use.lease
        finally:
            self._users[lease_in_use] -= 1
            if not self._users[lease_in_use]:
                del self._users[lease_in_use]
                self._held = None if self._held is lease_in_use else self._held
                if lease_in_use.lease in self._leasing.of_labs:
                    self._leasing.of_labs.remove(lease_in_use.lease)
                await lease_in_use.stack.aclose()


_RESTARTED = "the sandbox was restarted: background jobs and files in /tmp are gone"


class LabSandbox:
    """The sandbox of one lab in one start of the bot."""

    def __init__(self, executor: Executor, request: LabRequest, place: LabPlace) -> None:
        """Take the lab, and what is told where it lives once it is open."""
        self._executor = executor
        self._request = request
        self._place = place
        self._stack: AsyncExitStack | None = None
        self._lab: LabHandle | None = None

    async def run(self, turn: int, command: str, seconds: float, lease: Lease) -> CommandResult:
        """Run a command; a sandbox that dies over it is an observation, and is opened again for the next one."""
        restarted = False
        try:
            if self._lab is None or not self._lab.alive:
                restarted = any((self._request.folder / "logs").iterdir())
                await self.close()
                self._stack = AsyncExitStack()
                request = replace(self._request, lease=lease)
                self._lab = await self._stack.enter_async_context(self._executor.open_lab(request))
                self._place.node = self._lab.node
            with self._executor.quiet(lease):
                result = await self._lab.run(turn, command, seconds=seconds, cpus=lease.cpus, gpus=lease.gpus)
        except LabDied as error:
            await self.close()
            reason = f"the sandbox died and will be restarted with what remains of work/: {error}"
            return CommandResult("", None, 0.0, False, reason, 0)
        return replace(result, notice="; ".join(filter(None, (_RESTARTED, result.notice)))) if restarted else result

    async def sync_work_folder(self) -> None:
        """Copy work/ from the sandbox, wherever that is, to this machine."""
        if self._lab is not None:
            with suppress(LabDied):  # the last copy stays
                await self._lab.sync_work_folder()

    async def wait_idle(self) -> None:
        """Return once no background process runs in it."""
        if self._lab is not None:
            await self._lab.wait_idle()

    async def close(self) -> None:
        """End everything in it; work/ stays."""
        stack, self._stack, self._lab = self._stack, None, None
        self._place.node = None
        if stack is not None:
            await stack.aclose()
