"""Steps: a finished one is never run again, an unfinished one is."""

import asyncio
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Generic, TypeVar

import pytest

from state.breaker import INITIAL_COOLDOWN, MAX_COOLDOWN, Breaker
from state.clock import SystemClock
from state.errors import StateUnavailable
from state.steps import Key, StepKind, Steps, rng, write_with_retry
from state.store import Store, Transaction
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
            await write_with_retry(store, tries.append, seconds=60)
        assert tries == []
        assert 60 <= (clock.now() - began).total_seconds() < 80
        await write_with_retry(store, tries.append)
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


def cooldown(breaker: Breaker, clock: SetClock) -> float:
    """Return for how many seconds it admits none, and stop when it does."""
    for seconds in range(2000):
        if breaker.admits():
            return seconds
        clock.advance(1.0)
    raise AssertionError("it never admits any again")


def test_cooldown_doubles_up_to_a_cap_and_an_answer_ends_it() -> None:
    clock = SetClock()
    breaker = Breaker(clock)
    cooldowns = []
    for _ in range(7):
        fail(breaker)
        cooldowns.append(cooldown(breaker, clock))
    assert cooldowns == [30.0, 60.0, 120.0, 240.0, 480.0, 900.0, 900.0]
    breaker.succeed()
    assert breaker.closed and breaker.admits()
    fail(breaker)
    assert cooldown(breaker, clock) == INITIAL_COOLDOWN


def test_half_open_lets_one_call_through_however_it_ends() -> None:
    clock = SetClock()
    breaker = Breaker(clock)
    fail(breaker)
    clock.advance(INITIAL_COOLDOWN)
    with breaker.call():
        assert not breaker.admits()
        with breaker.call():
            assert not breaker.admits()
        assert not breaker.admits(), "a second one that was asked all the same does not make room for a third"
    assert breaker.admits()


def test_calls_under_way_when_it_opens_do_not_lengthen_the_cooldown() -> None:
    clock = SetClock()
    breaker = Breaker(clock)
    with breaker.call() as one, breaker.call() as two, breaker.call() as three:
        for call in (one, two, three):
            breaker.fail(call)
    assert cooldown(breaker, clock) == INITIAL_COOLDOWN


def test_what_a_person_must_fix_takes_the_longest_cooldown() -> None:
    clock = SetClock()
    breaker = Breaker(clock)
    fail(breaker, lasting=True)
    assert cooldown(breaker, clock) == MAX_COOLDOWN


def test_clock_that_was_set_back_does_not_lengthen_the_cooldown() -> None:
    clock = SetClock()
    breaker = Breaker(clock)
    fail(breaker)
    clock.advance(-86400.0)
    assert breaker.admits()


T = TypeVar("T")
ASK, ANSWER = StepKind("ask", dict[str, int]), StepKind("answer", dict[str, int])
NUMBER, NAMES = StepKind("number", int), StepKind("names", tuple[str, ...])


@dataclass(frozen=True)
class Fitted:
    at: datetime
    weights: dict[int, float] = field(default_factory=dict)
    parts: tuple[str, ...] = ()
    inner: "Fitted | None" = None


class Paid(Generic[T]):
    """An effect that counts how often it was paid for."""

    def __init__(self, answer: T) -> None:
        self.times = 0
        self._answer = answer

    async def __call__(self) -> T:
        self.times += 1
        return self._answer


def paid() -> Paid[dict[str, int]]:
    return Paid({"answer": 42})


async def test_a_finished_step_gives_back_its_result_without_running(store: Store, run_id: str) -> None:
    effect = paid()
    first = await Steps(store, run_id).once(ASK, effect, Key(3))
    again = await Steps(store, run_id).once(ASK, effect, Key(3))
    assert first == again == {"answer": 42}
    assert effect.times == 1


async def test_node_kind_part_attempt_and_run_each_make_a_step_of_its_own(store: Store, run_id: str) -> None:
    effect = paid()
    steps = Steps(store, run_id)
    await steps.once(ASK, effect)
    await steps.once(ANSWER, effect, Key(1))
    await steps.once(ASK, effect, Key(1, attempt=1))
    await steps.once(ASK, effect, Key(1))
    await steps.once(ASK, effect, Key(1, "part"))
    await Steps(store, "another run").once(ASK, effect)
    assert effect.times == 6


async def test_a_result_comes_back_as_what_it_was(store: Store, run_id: str) -> None:
    at = datetime(2021, 2, 3, 4, 5, 6, 789_000, tzinfo=UTC)
    made = Fitted(at, {3: 0.1}, ("a", "b"), Fitted(at))
    effect, kind = Paid(made), StepKind("fit", Fitted)
    first = await Steps(store, run_id).once(kind, effect)
    again = await Steps(store, run_id).once(kind, effect)
    assert first == again == made
    assert effect.times == 1


@pytest.mark.parametrize("nothing", [False, 0, "", (), {}])
async def test_an_empty_result_is_a_result(store: Store, run_id: str, nothing: object) -> None:
    effect, kind = Paid(nothing), StepKind("empty", type(nothing))
    assert await Steps(store, run_id).once(kind, effect) == nothing
    assert await Steps(store, run_id).once(kind, effect) == nothing
    assert effect.times == 1


async def test_rows_of_a_result_are_written_with_it_or_not_at_all(store: Store, run_id: str) -> None:
    def fails(tx: Transaction, made: int) -> None:
        tx.record("made", run_id=run_id, number=made)
        raise ValueError

    steps, effect = Steps(store, run_id), Paid(7)
    with pytest.raises(ValueError):
        await steps.once(NUMBER, effect, save=fails)
    assert steps.find(NUMBER) is None
    for _ in range(2):
        await steps.once(NUMBER, effect, save=lambda tx, made: tx.record("made", run_id=run_id, number=made))
    assert [event["number"] for event in store.export_events(run_id) if event["type"] == "made"] == [7]
    assert effect.times == 2


async def test_finished_steps_are_found_by_node_and_part_in_order_of_attempts(store: Store, run_id: str) -> None:
    steps = Steps(store, run_id)
    for key in (Key(2, "b", 1), Key(2, "b"), Key(3, "b"), Key(2)):
        await steps.once(NAMES, Paid((str(key.node), key.part)), key)
    await Steps(store, "another run").once(NAMES, Paid(()), Key(2, "b", 5))
    assert list(steps.all(NAMES, part="b")) == [Key(2, "b"), Key(3, "b"), Key(2, "b", 1)]
    assert list(steps.all(NAMES, 2, "b").items()) == [(Key(2, "b"), ("2", "b")), (Key(2, "b", 1), ("2", "b"))]
    assert steps.all(NAMES) == {Key(2): ("2", "")}
    assert steps.find(NAMES, Key(3, "b")) == ("3", "b")
    assert steps.find(NAMES, Key(4)) is None


async def test_a_step_that_has_only_begun_is_not_found(store: Store, run_id: str) -> None:
    steps = Steps(store, run_id)

    async def looks() -> int:
        assert steps.find(NUMBER) is None
        assert steps.all(NUMBER) == {}
        return 1

    await steps.once(NUMBER, looks)
    assert steps.find(NUMBER) == 1


async def test_a_step_that_failed_runs_again(store: Store, run_id: str) -> None:
    async def fails() -> dict[str, int]:
        raise ConnectionError

    effect = paid()
    steps = Steps(store, run_id)
    with pytest.raises(ConnectionError):
        await steps.once(ASK, fails)
    assert await steps.once(ASK, effect) == {"answer": 42}
    assert effect.times == 1


async def test_a_step_that_was_cancelled_runs_again(store: Store, run_id: str) -> None:
    entered = asyncio.Event()

    async def hangs() -> dict[str, int]:
        entered.set()
        await asyncio.Event().wait()
        return {}

    steps = Steps(store, run_id)
    task = asyncio.create_task(steps.once(ASK, hangs))
    await entered.wait()
    with pytest.raises(RuntimeError, match="already running"):
        await steps.once(ASK, paid())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await steps.once(ASK, paid()) == {"answer": 42}


async def test_another_prompt_is_only_noted(store: Store, run_id: str) -> None:
    effect = paid()
    await Steps(store, run_id).once(ASK, effect, Key(2), prompt_hash="old")
    assert await Steps(store, run_id).once(ASK, effect, Key(2), prompt_hash="new") == {"answer": 42}
    await Steps(store, run_id).once(ASK, effect, Key(2), prompt_hash="old")
    assert effect.times == 1
    changed = [event for event in store.export_events(run_id) if event["type"] == "step.prompt_changed"]
    assert [(event["node"], event["stored"], event["now"]) for event in changed] == [(2, "old", "new")]


async def test_start_and_end_are_events(store: Store, run_id: str) -> None:
    await Steps(store, run_id).once(ASK, paid(), Key(1, "part"))
    events = [(e["type"], e["node"], e.get("name")) for e in store.export_events(run_id)][1:]
    assert events == [("step.started", 1, "ask:part"), ("step.ended", 1, "ask:part")]


@pytest.mark.integration
async def test_after_a_kill_the_finished_is_kept_and_the_begun_runs_again(tmp_path: Path) -> None:
    path = tmp_path / "killed.db"
    program = f"""
        import asyncio, os, signal
        from pathlib import Path
        from state.clock import SystemClock
        from state.steps import StepKind, Steps
        from state.store import Store

        async def finished(): return {{"by": "the killed process"}}
        async def killed(): os.kill(os.getpid(), signal.SIGKILL)

        async def main():
            steps = Steps(Store.open(Path({str(path)!r}), SystemClock()), "r")
            await steps.once(StepKind("one", dict), finished)
            await steps.once(StepKind("two", dict), killed)
        asyncio.run(main())
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=False)
    assert done.returncode == -9
    effect = paid()
    with Store.open(path, SystemClock()) as store:
        steps = Steps(store, "r")
        assert await steps.once(StepKind[Any]("one", dict), effect) == {"by": "the killed process"}
        assert await steps.once(StepKind[Any]("two", dict), effect) == {"answer": 42}
    assert effect.times == 1


async def test_a_decision_is_made_once_and_follows_the_runs_seed(store: Store, run_id: str) -> None:
    first = await Steps(store, run_id).decision(NUMBER, 4, lambda random: random.randrange(10**9))
    again = await Steps(store, run_id).decision(NUMBER, 4, lambda _: -1)
    other = await Steps(store, run_id).decision(NUMBER, 5, lambda random: random.randrange(10**9))
    assert first == again == rng(7, 4).randrange(10**9)
    assert other != first


def test_the_generator_of_a_decision_is_the_same_on_every_machine() -> None:
    assert [rng(7, 1).randrange(1000), rng(7, 2).randrange(1000), rng(8, 1).randrange(1000)] == [56, 678, 58]
