"""What was paid for is kept when the database can be written to again; a breaker rests and tries again."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from state.breaker import FIRST_REST, LONGEST_REST, Breaker
from state.errors import StateUnavailable
from state.steps import StepKind, Steps, patiently
from state.store import Store
from tests.bot.models.parts import CUTOFF, HurriedClock
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

        assert await Steps(store, "r").once(StepKind("ask", dict[str, int]), effect) == {"answer": 42}
        assert await Steps(store, "r").once(StepKind("ask", dict[str, int]), effect) == {"answer": 42}
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


class SetClock(HurriedClock):
    def __init__(self) -> None:
        super().__init__()
        self.time = CUTOFF

    def now(self) -> datetime:
        return self.time

    def advance(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


def fail(breaker: Breaker, *, lasting: bool = False) -> None:
    with breaker.call() as call:
        breaker.fail(call, lasting=lasting)


def rest(breaker: Breaker, clock: SetClock) -> float:
    """Return for how many seconds it admits none, and stop when it does."""
    for seconds in range(2000):
        if breaker.admits():
            return seconds
        clock.advance(1.0)
    raise AssertionError("it never admits any again")


def test_rest_doubles_up_to_a_cap_and_an_answer_ends_it() -> None:
    clock = SetClock()
    breaker = Breaker(clock)
    rests = []
    for _ in range(7):
        fail(breaker)
        rests.append(rest(breaker, clock))
    assert rests == [30.0, 60.0, 120.0, 240.0, 480.0, 900.0, 900.0]
    breaker.succeed()
    assert breaker.closed and breaker.admits()
    fail(breaker)
    assert rest(breaker, clock) == FIRST_REST


def test_half_open_lets_one_call_through_however_it_ends() -> None:
    clock = SetClock()
    breaker = Breaker(clock)
    fail(breaker)
    clock.advance(FIRST_REST)
    with breaker.call():
        assert not breaker.admits()
        with breaker.call():
            assert not breaker.admits()
        assert not breaker.admits(), "a second one that was asked all the same does not make room for a third"
    assert breaker.admits()


def test_calls_under_way_when_it_opens_do_not_lengthen_the_rest() -> None:
    clock = SetClock()
    breaker = Breaker(clock)
    with breaker.call() as one, breaker.call() as two, breaker.call() as three:
        for call in (one, two, three):
            breaker.fail(call)
    assert rest(breaker, clock) == FIRST_REST


def test_what_a_person_must_mend_rests_longest() -> None:
    clock = SetClock()
    breaker = Breaker(clock)
    fail(breaker, lasting=True)
    assert rest(breaker, clock) == LONGEST_REST


def test_clock_that_was_set_back_does_not_lengthen_the_rest() -> None:
    clock = SetClock()
    breaker = Breaker(clock)
    fail(breaker)
    clock.advance(-86400.0)
    assert breaker.admits()
