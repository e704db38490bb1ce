"""A lab's sandbox, opened at its first command, and again when it has died."""

from contextlib import AsyncExitStack, suppress
from dataclasses import replace

from bot.execution.executor import Executor
from sandbox import Lease
from sandbox.lab import CommandResult, Lab, LabDied, LabPlace, LabRequest

_ANEW = "the sandbox was started anew: background jobs and what lay in /tmp are gone"


class Box:
    """The sandbox of one lab in one start of the bot."""

    def __init__(self, executor: Executor, request: LabRequest, place: LabPlace) -> None:
        """Take the lab, and what is told where it lives once it is open."""
        self._executor = executor
        self._request = request
        self._place = place
        self._stack: AsyncExitStack | None = None
        self._lab: Lab | None = None

    async def run(self, turn: int, command: str, seconds: float, lease: Lease) -> CommandResult:
        """Run a command; a sandbox that dies over it is an observation, and is opened again for the next one."""
        anew = False
        try:
            if self._lab is None or not self._lab.alive:
                anew = any((self._request.folder / "logs").iterdir())
                await self.close()
                self._stack = AsyncExitStack()
                request = replace(self._request, lease=lease)
                self._lab = await self._stack.enter_async_context(self._executor.open_lab(request))
                self._place.node = self._lab.node
            with self._executor.quiet(lease):
                result = await self._lab.run(turn, command, seconds=seconds, cpus=lease.cpus, gpus=lease.gpus)
        except LabDied as error:
            await self.close()
            ended = f"the sandbox died and is started again, with what there is of work/: {error}"
            return CommandResult("", None, 0.0, False, ended, 0)
        return replace(result, ended="; ".join(filter(None, (_ANEW, result.ended)))) if anew else result

    async def bring_home(self) -> None:
        """Have work/ on this machine be as it is in the sandbox, wherever that is."""
        if self._lab is not None:
            with suppress(LabDied):  # then it stays as it was brought last
                await self._lab.bring_home()

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
