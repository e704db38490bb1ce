"""A world with its clock, and a store that goes by the same clock."""

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing

import pytest

from scrapers.kaggle.polling.poller import Poller
from state.store import Store
from tests.scrapers.kaggle.parts import START, SetClock
from tests.scrapers.kaggle.polling.world import World, poller_of


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One database for all tests: to make one and to prepare its queries takes longer than most of them."""
    with Store.open(tmp_path_factory.mktemp("shared") / "bot.db", SetClock()) as opened:
        yield opened


@pytest.fixture
def store(shared: Store) -> Store:
    """The database, emptied, its clock at the start."""
    with closing(sqlite3.connect(shared.path)) as database, database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            database.execute(f"DELETE FROM {table}")  # noqa: S608 - names of our own
    assert isinstance(shared.clock, SetClock)
    shared.clock.time = START
    return shared


@pytest.fixture
def world(store: Store) -> World:
    assert isinstance(store.clock, SetClock)
    return World(clock=store.clock)


@pytest.fixture
async def poller(world: World, store: Store) -> AsyncIterator[Poller]:
    async with poller_of(world, store) as made:
        yield made
