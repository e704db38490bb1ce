"""A store on a clock that can be put."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from state.store import Store
from tests.bot.daemon.parts import PutClock


@pytest.fixture
def clock() -> PutClock:
    return PutClock()


@pytest.fixture
def store(tmp_path: Path, clock: PutClock) -> Iterator[Store]:
    with Store.open(tmp_path / "bot.db", clock, busy_seconds=0.05) as opened:
        yield opened
