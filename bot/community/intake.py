"""What a run takes from its community, in numbered batches: posts are read and turned into ideas, and kernels run."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal

from bot.community.ideas.pool import may_propose, propose_ideas
from bot.community.reading.batches import read_batch
from bot.community.reproduction.reproducing import reproduce_batch
from bot.engine.context import RunContext
from state.errors import BotError

Part = Literal["posts", "kernels", "plan"]


class Intake:
    """Batches beside the search: each is started at one point of it and awaited at a later one.

    So a plan's inputs do not depend on speed. A batch stores its work as steps and rows: if the process ends meanwhile, it is
    started again without paying or running anything twice.
    """

    def __init__(self, context: RunContext, *, shares_cores: bool = False) -> None:
        """Start nothing yet; with `shares_cores` running kernels share their cores, so that no coder waits."""
        self._context = context
        self._shares_cores = shares_cores
        self._tasks: dict[tuple[Part, int], asyncio.Task[None]] = {}

    def begin(self, part: Part, number: int) -> None:
        """Start a batch (from 1), unless it was started; one that failed is started again by `ready` alone."""
        if number >= 1 and (part, number) not in self._tasks:
            self._tasks[part, number] = asyncio.create_task(self._batch(part, number))

    def begin_after_reading(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do work after the first batch of posts, once per start of the bot; a failure is reported and not raised."""

        async def run() -> None:
            try:
                await self.ready("posts", 1)
                await work()
            except BotError as error:
                self._context.say(f"no draft was planned for the first lab: {error}")

        if ("plan", 1) not in self._tasks:
            self._tasks["plan", 1] = asyncio.create_task(run())

    async def ready(self, part: Part, number: int) -> None:
        """Wait until all batches up to this one are done, and start those that were not; raises as `Asker.ask`."""
        for batch_number in range(1, number + 1):
            self.begin(part, batch_number)
            task = self._tasks[part, batch_number]
            await asyncio.wait({task})
            failed = task.cancelled() or task.exception() is not None
            # Another waiter may have started it again already.
            if failed and self._tasks.get((part, batch_number)) is task:
                del self._tasks[part, batch_number]
            task.result()

    async def close(self) -> None:
        """Cancel all batches."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _batch(self, part: Part, number: int) -> None:
        if number > 1:
            await self.ready(part, number - 1)
        if part == "posts":
            read = await read_batch(self._context, number)
            # Where nothing was posted or measured yet, a coder's own ideas are as good.
            if (read or number > 1) and may_propose(self._context):
                await propose_ideas(self._context, f"propose:{number}")
        else:
            await reproduce_batch(self._context, number, shares_cores=self._shares_cores)
