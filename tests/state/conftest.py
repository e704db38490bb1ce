"""A store in a temporary folder, and a clock that stands where a test puts it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from state.store import Store
from tests.state.rows import create_run

START = datetime(2020, 1, 1, tzinfo=UTC)


class StandingClock:
    """A clock that moves only when a test moves it; as_of is now unless set."""

    def __init__(self, now: datetime = START, as_of: datetime | None = None) -> None:
        self.time = now
        self.known_until = as_of

    def now(self) -> datetime:
        return self.time

    def as_of(self) -> datetime:
        return self.known_until or self.time

    async def sleep(self, seconds: float) -> None:
        self.pass_by(seconds)

    def pass_by(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock()


@pytest.fixture
def store(tmp_path: Path, clock: StandingClock) -> Iterator[Store]:
    with Store.open(tmp_path / "state.db", clock) as opened:
        yield opened


@pytest.fixture
def run_id(store: Store) -> str:
    with store.write() as tx:
        config = {"card": {"metric": {"name": "rmse", "direction": "minimize"}}}
        create_run(tx, "r", competition="wine", agent="comind", model="builtin", seed=7, cutoff=None, config=config)
    return "r"
