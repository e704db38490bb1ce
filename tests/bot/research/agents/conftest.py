"""What the tests of agents that search a tree share."""

from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest_asyncio

from bot.evaluation.client.worker import Worker


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def worker() -> AsyncIterator[Worker]:
    """A worker process that all tests of a module share: its libraries are slow to load."""
    async with aclosing(Worker()) as one:
        yield one
