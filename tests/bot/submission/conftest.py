"""A live run at a site, with nodes made by hand."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest
import pytest_asyncio

from bot.evaluation.client.worker import Worker
from tests.bot.submission.service_parts import Ground, Live, ground, live


@pytest.fixture(scope="module")
def the_ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return ground(tmp_path_factory.mktemp("ground"))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def worker() -> AsyncIterator[Worker]:
    """A worker process that all tests of a module share: its libraries are slow to load."""
    async with aclosing(Worker()) as one:
        yield one


@pytest_asyncio.fixture(loop_scope="module")
async def run(the_ground: Ground, tmp_path: Path, worker: Worker) -> AsyncIterator[Live]:
    async with live(the_ground, tmp_path, worker) as opened:
        yield opened
