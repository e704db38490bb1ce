"""What a run takes in from its community: posts are read and ideas drawn from them, and kernels run, in numbered batches."""

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
    """Batches that go on beside the search: each is begun at one point of it and awaited at a later one.

    So a plan's inputs do not depend on how fast things are. What a batch does is a step or a row, so that one that was cut
    off by the end of the process is begun again without paying or running anything twice.
    """

    def __init__(self, context: RunContext, *, shares_cores: bool = False) -> None:
        """Begin nothing yet.

        With `shares_cores` kernels, once begun, share their cores with whoever wants them, so that no coder waits.
        """
        self._context = context
        self._shares_cores = shares_cores
        self._begun: dict[tuple[Part, int], asyncio.Task[None]] = {}

    def begin(self, part: Part, number: int) -> None:
        """Begin a batch (from 1), unless it was begun; one that failed is begun again by `ready` alone."""
        if number >= 1 and (part, number) not in self._begun:
            self._begun[part, number] = asyncio.create_task(self._batch(part, number))

    def begin_after_reading(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do something once the first batch of posts was read, once a start of the bot; its failure is told, and ends nothing."""
        if ("plan", 1) not in self._begun:
            self._begun["plan", 1] = asyncio.create_task(self._after_reading(work))

    async def _after_reading(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await self.ready("posts", 1)
            await work()
        except BotError as error:
            self._context.say(f"no draft was planned for the first lab: {error}")

    async def ready(self, part: Part, number: int) -> None:
        """Wait until all batches up to this one are done, and begin those that were not; raises as `Asker.ask`."""
        for batch_number in range(1, number + 1):
            self.begin(part, batch_number)
            task = self._begun[part, batch_number]
            await asyncio.wait({task})
            failed = task.cancelled() or task.exception() is not None
            # Another who waited may have begun it again already.
            if failed and self._begun.get((part, batch_number)) is task:
                del self._begun[part, batch_number]
            task.result()

    async def close(self) -> None:
        """Cancel what goes on."""
        for task in self._begun.values():
            task.cancel()
        await asyncio.gather(*self._begun.values(), return_exceptions=True)

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
