"""A world with its clock, and a store that goes by the same clock."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from scrapers.kaggle.polling import Poller
from state.store import Store
from tests.scrapers.kaggle.polling.world import World, poller_of


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def store(tmp_path: Path, world: World) -> Iterator[Store]:
    with Store.open(tmp_path / "bot.db", world.clock) as opened:
        yield opened


@pytest.fixture
async def poller(world: World, store: Store) -> AsyncIterator[Poller]:
    async with poller_of(world, store) as made:
        yield made
