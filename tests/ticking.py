"""Whether the event loop goes on while something is done: the longest time that it stood still."""

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
    """Yield what is filled with the longest time between two ticks of a task that only ticks."""
    found = Standstill()

    async def tick() -> None:
        last = time.monotonic()
        while True:
            await asyncio.sleep(0)
            now = time.monotonic()
            found.seconds, last = max(found.seconds, now - last), now

    ticking = asyncio.create_task(tick())
    try:
        yield found
    finally:
        await asyncio.sleep(0)
        ticking.cancel()
