"""A store on a clock that can be put, and a live run at a site, with nodes made by hand."""

import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path

import pytest
import pytest_asyncio

from bot.evaluation.worker import Worker
from state.clock import SystemClock
from state.store import Store
from tests.bot.daemon.desk_parts import Ground, Live, ground, live
from tests.bot.daemon.parts import PutClock


@pytest.fixture(scope="session")
def _made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database without rows; to make its tables takes as long as many a test."""
    path = tmp_path_factory.mktemp("empty") / "bot.db"
    Store.open(path, SystemClock()).close()
    return path


@pytest.fixture
def empty_database(tmp_path: Path, _made_once: Path) -> Path:
    """A database of the test's own."""
    return Path(shutil.copy(_made_once, tmp_path / "bot.db"))


@pytest.fixture
def clock() -> PutClock:
    return PutClock()


@pytest.fixture
def store(empty_database: Path, clock: PutClock) -> Iterator[Store]:
    with Store.open(empty_database, clock, busy_seconds=0.05) as opened:
        yield opened


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
