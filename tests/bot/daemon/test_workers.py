"""Workers: each task is done when it is due, within its kind's bounds, and what fails takes nothing else down."""

import asyncio
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest

from bot.daemon.workers import Handler, Workers, WorkerSettings
from state.errors import Retry, StateUnavailable
from state.store import Store
from state.tables import Task
from state.tasks import MOST_INTERRUPTIONS, claim_task, recover_tasks
from tests.bot.daemon.parts import LONGEST, QUICK, PutClock, events_of, put, row, started, status, until
from tests.state.conftest import StandingClock


class Bench:
    """A handler that works until it is released, and remembers what it worked on."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.now: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.go = asyncio.Event()

    async def run(self, task: Task) -> None:
        self.begun.append(task.key)
        for what in (task.kind, f"{task.kind}:{task.competition}"):
            self.now[what] += 1
            self.most[what] = max(self.most[what], self.now[what])
        try:
            await self.go.wait()
        finally:
            self.now[task.kind] -= 1
            self.now[f"{task.kind}:{task.competition}"] -= 1


def workers(store: Store, settings: WorkerSettings = QUICK, /, **handlers: Handler) -> Workers:
    return Workers(store, store.clock, handlers, settings, random=Random(7))


def failing(error: BaseException, tries: int = 3) -> Handler:
    async def run(task: Task) -> None:
        raise error

    return Handler(run, max_attempts=tries)


async def test_what_is_due_is_done_and_what_is_not_waits_for_its_time(store: Store, clock: PutClock) -> None:
    bench = Bench()
    bench.go.set()
    put(store, "poll:titanic:1")
    put(store, "poll:titanic:2", seconds=3600)
    async with started(workers(store, poll=Handler(bench.run))):
        await until(lambda: status(store, "poll:titanic:1") == "done")
        assert status(store, "poll:titanic:2") == "queued"
        clock.put(3600)
        await until(lambda: status(store, "poll:titanic:2") == "done")
    assert bench.begun == ["poll:titanic:1", "poll:titanic:2"]


async def test_woken_they_look_at_once(store: Store) -> None:
    bench = Bench()
    bench.go.set()
    async with started(workers(store, replace(QUICK, idle_seconds=3600), poll=Handler(bench.run))) as made:
        await until(lambda: made.turns == 1)
        put(store, "poll:titanic:1")
        made.wake()
        await until(lambda: status(store, "poll:titanic:1") == "done")


async def test_bounds_of_a_kind_and_of_a_competition_hold(store: Store) -> None:
    bench = Bench()
    handlers = {"poll": Handler(bench.run, max_parallel=2), "card": Handler(bench.run, max_parallel=9)}
    keys = [f"{kind}:{competition}:{n}" for kind in handlers for competition in ("a", "b", "c") for n in range(3)]
    put(store, *keys)
    async with started(workers(store, **handlers)) as made:
        await until(lambda: len(bench.begun) == 2 + 3)
        assert {task.key for task in made.running} == set(bench.begun)
        bench.go.set()
        await until(lambda: all(status(store, key) == "done" for key in keys))
    assert sorted(bench.begun) == sorted(keys)
    assert (bench.most["poll"], bench.most["card"]) == (2, 3)
    assert {bench.most[f"{kind}:{name}"] for kind in ("poll", "card") for name in "abc"} == {1}


async def test_tasks_that_nobody_can_do_are_left_alone(store: Store) -> None:
    put(store, "strange:titanic:1")
    async with started(workers(store, poll=Handler(Bench().run))) as made:
        await until(lambda: made.turns > 2)
        assert status(store, "strange:titanic:1") == "queued"


async def test_what_fails_is_kept_with_its_traceback_given_up_in_the_end_and_others_go_on(store: Store) -> None:
    bench = Bench()
    bench.go.set()
    put(store, "learn:titanic:1", "card:titanic:1")
    handlers = {"learn": failing(ZeroDivisionError("no posts")), "card": failing(SystemExit(1), tries=1)}
    async with started(workers(store, poll=Handler(bench.run), **handlers)):
        await until(lambda: status(store, "learn:titanic:1") == status(store, "card:titanic:1") == "dead")
        put(store, "poll:titanic:1")
        await until(lambda: status(store, "poll:titanic:1") == "done")
    dead = row(store, "learn:titanic:1")
    assert (dead.tries, dead.error) == (3, "ZeroDivisionError: no posts")
    assert [event["tries"] for event in events_of(store, "task.failed")] == [1, 2]
    card, learn = sorted(events_of(store, "task.died"), key=lambda event: str(event["kind"]))
    assert (learn["task"], learn["competition"], learn["error"]) == ("learn:titanic:1", "titanic", dead.error)
    assert "raise error" in learn["traceback"] and "SystemExit: 1" in card["traceback"]


async def test_pauses_between_tries_grow_up_to_a_bound(empty_database: Path) -> None:
    clock = StandingClock()
    settings = WorkerSettings(idle_seconds=0.02, initial_pause=10, max_pause=100)
    pauses = []
    with Store.open(empty_database, clock) as store:
        put(store, "poll:titanic:1")
        async with started(workers(store, settings, poll=failing(ValueError("x"), tries=8))) as made:
            for tries in range(1, 8):
                await until(lambda tries=tries: row(store, "poll:titanic:1").tries == tries)
                pause = (row(store, "poll:titanic:1").due_at - clock.now()).total_seconds()
                pauses.append(pause)
                clock.pass_by(pause)
                made.wake()
            await until(lambda: status(store, "poll:titanic:1") == "dead")
    full = [10, 20, 40, 80, 100, 100, 100]
    assert all(most / 2 <= pause <= most for pause, most in zip(pauses, full, strict=True))
    assert len(set(pauses)) == len(pauses)


async def test_a_handler_sets_when_to_try_again(empty_database: Path) -> None:
    clock = StandingClock()
    with Store.open(empty_database, clock) as store:
        put(store, "submit:titanic:1")
        error = Retry(3600, "the quota is used up", counted=False)
        async with started(workers(store, submit=failing(error, tries=1))):
            await until(lambda: row(store, "submit:titanic:1").error is not None)
            task = row(store, "submit:titanic:1")
            assert (task.status, task.tries, task.error) == ("queued", 0, "the quota is used up")
            assert task.due_at == clock.now() + timedelta(hours=1)
            assert events_of(store, "task.failed") == []


async def test_a_database_that_a_handler_cannot_use_costs_no_try(store: Store) -> None:
    calls: list[int] = []

    async def run(task: Task) -> None:
        calls.append(task.tries)
        if len(calls) < 9:
            raise StateUnavailable("locked")

    put(store, "poll:titanic:1")
    async with started(workers(store, poll=Handler(run, max_attempts=1))):
        await until(lambda: status(store, "poll:titanic:1") == "done")
    assert calls == [0] * 9


async def test_while_the_database_is_locked_they_wait_and_then_write_down_what_was_done_meanwhile(store: Store) -> None:
    bench = Bench()
    put(store, "poll:titanic:1")
    async with started(workers(store, poll=Handler(bench.run))) as made:
        await until(lambda: bench.begun == ["poll:titanic:1"])
        with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            bench.go.set()
            turns = made.turns
            await until(lambda: made.turns > turns + 2)
            assert status(store, "poll:titanic:1") == "leased"
            other.execute("ROLLBACK")
        await until(lambda: status(store, "poll:titanic:1") == "done")
    assert bench.begun == ["poll:titanic:1"]


@pytest.mark.parametrize("seconds", [-86_400.0, 86_400.0])
async def test_however_the_clock_jumps_what_is_worked_on_is_not_begun_again(store, clock, seconds) -> None:
    bench = Bench()
    put(store, "poll:titanic:1")
    async with started(workers(store, poll=Handler(bench.run, max_parallel=3))) as made:
        await until(lambda: bool(bench.begun))
        clock.put(seconds)
        turns = made.turns
        await until(lambda: made.turns > turns + 3)
        bench.go.set()
        await until(lambda: status(store, "poll:titanic:1") == "done")
    assert bench.begun == ["poll:titanic:1"]


async def test_what_a_dead_process_worked_on_is_done_anew(store: Store) -> None:
    put(store, "poll:titanic:1")
    with store.write() as tx:
        assert claim_task(tx, "the dead", kinds=["poll"])
    bench = Bench()
    bench.go.set()
    async with started(workers(store, poll=Handler(bench.run))):
        await until(lambda: status(store, "poll:titanic:1") == "done")
    assert row(store, "poll:titanic:1").interruptions == 1


async def test_what_kills_the_process_each_time_is_given_up_at_a_start(store: Store, clock: PutClock) -> None:
    put(store, "poll:titanic:1")
    for time in range(MOST_INTERRUPTIONS):
        clock.put(3700)
        with store.write() as tx:
            if time:
                recover_tasks(tx)
        clock.put(3700)
        with store.write() as tx:
            assert claim_task(tx, "the dead", kinds=["poll"])
    async with started(workers(store, poll=Handler(Bench().run))):
        await until(lambda: status(store, "poll:titanic:1") == "dead")
    (died,) = events_of(store, "task.died")
    assert "ended 20 times" in died["error"]


async def test_through_failures_and_ends_of_all_kinds_everything_is_done_once_at_a_time(store: Store) -> None:
    """Twenty tasks of which many tries fail, under workers that are broken off again and again."""
    random, now, most, done = Random(3), Counter[str](), Counter[str](), Counter[str]()

    async def run(task: Task) -> None:
        now[task.key] += 1
        most[task.key] = max(most[task.key], now[task.key])
        try:
            await asyncio.sleep(random.uniform(0, 0.01))
            if random.random() < 0.4:
                raise random.choice([ValueError("x"), SystemExit(2), Retry(0.001), StateUnavailable("x")])
        finally:
            now[task.key] -= 1
        done[task.key] += 1

    keys = [f"poll:{competition}:{n}" for competition in "abcd" for n in range(5)]
    put(store, *keys)
    handler = Handler(run, max_parallel=3, max_attempts=1000)
    async with asyncio.timeout(LONGEST):
        while any(status(store, key) != "done" for key in keys):
            made = workers(store, poll=handler)
            async with started(made):
                await asyncio.sleep(0.05)
                if random.random() < 0.5:
                    await made.stop(random.choice([0.0, 0.02]))
    assert set(most.values()) == {1}
    assert set(done) == set(keys)
