"""A result that was paid for is kept when the database can be written to again."""

from pathlib import Path
from typing import Any

import pytest

from state.errors import StateUnavailable
from state.patience import patiently
from state.steps import Kind, Steps
from state.store import Store
from tests.state.conftest import StandingClock
from tests.state.processes import holding_on
from tests.state.test_faults import HOLD_THE_WRITE_LOCK


class Until(StandingClock):
    """A clock by which the trouble is over after so many pauses."""

    def __init__(self, pauses: int) -> None:
        super().__init__()
        self.pauses = pauses
        self.end_trouble: Any = None

    async def sleep(self, seconds: float) -> None:
        self.pass_by(seconds)
        self.pauses -= 1
        if self.pauses == 0:
            self.end_trouble()


async def test_a_step_whose_result_cannot_be_written_at_once_keeps_it(tmp_path: Path) -> None:
    clock, path, paid = Until(pauses=3), tmp_path / "state.db", []
    with Store.open(path, clock, busy_seconds=0.05) as store:
        with store.write() as tx:
            tx.record("x", run_id="r")
        holder = holding_on(HOLD_THE_WRITE_LOCK, path)

        async def effect() -> dict[str, Any]:
            paid.append(1)
            holder.__enter__()
            clock.end_trouble = lambda: holder.__exit__(None, None, None)
            return {"answer": 42}

        assert await Steps(store, "r").once(Kind("ask", dict[str, int]), effect) == {"answer": 42}
        assert await Steps(store, "r").once(Kind("ask", dict[str, int]), effect) == {"answer": 42}
        assert [event["type"] for event in store.export_events("r")] == ["x", "step.started", "step.ended"]
    assert paid == [1]


async def test_a_lasting_failure_is_raised_in_the_end(tmp_path: Path) -> None:
    clock, path, tries = StandingClock(), tmp_path / "state.db", []
    began = clock.now()
    with Store.open(path, clock, busy_seconds=0.01) as store:
        with holding_on(HOLD_THE_WRITE_LOCK, path), pytest.raises(StateUnavailable, match="is locked"):
            await patiently(store, tries.append, seconds=60)
        assert tries == []
        assert 60 <= (clock.now() - began).total_seconds() < 80
        await patiently(store, tries.append)
    assert len(tries) == 1
