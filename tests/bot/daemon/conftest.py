"""A store on a clock that can be put."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from state.clock import SystemClock
from state.store import Store
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
