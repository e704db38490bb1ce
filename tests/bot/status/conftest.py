"""A store with a run in it, and a clock that stands where a test puts it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from state.store import Store
from tests.bot.status.parts import empty
from tests.state.conftest import StandingClock
from tests.state.rows import create_run


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock()


@pytest.fixture
def store(tmp_path: Path, clock: StandingClock) -> Iterator[Store]:
    (tmp_path / "bot.db").write_bytes(empty())
    with Store.open(tmp_path / "bot.db", clock) as opened:
        yield opened


@pytest.fixture
def run_id(store: Store) -> str:
    with store.write() as tx:
        create_run(tx, "r", competition="wine", agent="comind", model="builtin", seed=7, cutoff=None)
    return "r"
