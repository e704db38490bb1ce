"""The report of a run that goes on: written now and then, so that it can be opened at any time."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from bot.engine.attempts import load_tree
from bot.engine.context import RunContext
from state.errors import BotError

SHORTEST = 60.0
"""Real seconds between two pages at least: drawing one takes a core for a few."""
SHARE = 0.05
"""Of a run's time, between two pages."""


def pause_of(seconds: float) -> float:
    """Return the real seconds between two pages of a run that may take `seconds`."""
    return max(SHORTEST, SHARE * seconds)


@asynccontextmanager
async def written_meanwhile(
    context: RunContext, write: Callable[[], Awaitable[None]], pause: float
) -> AsyncIterator[None]:
    """Write the page again and again while the context lasts, if a node has ended since the last time.

    A pause, in real seconds, goes before each page. One that cannot be written costs the run nothing; one that is being
    written at the end is given up.
    """
    task = asyncio.create_task(_keep_writing(context, write, pause))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _keep_writing(context: RunContext, write: Callable[[], Awaitable[None]], pause: float) -> None:
    reported_count = 0
    while True:
        await asyncio.sleep(pause)
        ended_count = sum(node.state != "running" for node in load_tree(context).nodes)
        if ended_count == reported_count:
            continue
        try:
            await write()
        except (BotError, OSError) as error:
            context.say(f"cannot write the interim report: {error}")
        reported_count = ended_count
