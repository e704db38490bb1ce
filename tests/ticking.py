"""Whether the event loop goes on while something is done: the longest that the processor was at it in one go.

Seconds of the thread's processor time: a machine that others use as well stretches none of them.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass
class Standstill:
    """What was measured."""

    seconds: float = 0.0


@asynccontextmanager
async def standstill() -> AsyncIterator[Standstill]:
    """Yield what is filled with the longest processor time between two ticks of a task that only ticks."""
    found = Standstill()

    async def tick() -> None:
        last = time.thread_time()
        while True:
            await asyncio.sleep(0)
            now = time.thread_time()
            found.seconds, last = max(found.seconds, now - last), now

    ticking = asyncio.create_task(tick())
    try:
        yield found
    finally:
        await asyncio.sleep(0)
        ticking.cancel()
