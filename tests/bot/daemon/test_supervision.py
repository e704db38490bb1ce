"""Supervision: a loop that fails is started again and takes no other down; what keeps failing ends the process."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing, suppress
from dataclasses import replace

import pytest

from bot.daemon.supervision import LoopSupervisor, SupervisorSettings
from state.errors import KeepsFailing, StateCorrupted, StateUnavailable
from state.store import Store
from tests.bot.daemon.parts import LONGEST, events_of, until

QUICK = SupervisorSettings(initial_pause=0.01, max_pause=0.02, max_failures=3, stop_seconds=LONGEST)


class Loops:
    """Loops that write down when they begin and end."""

    def __init__(self) -> None:
        self.log: list[str] = []

    def steady(self, name: str) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            self.log.append(f"{name} begins")
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)
                self.log.append(f"{name} ends")

        return run

    def failing(self, name: str, error: BaseException, times: int = 10**9) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            self.log.append(f"{name} begins")
            if self.log.count(f"{name} begins") <= times:
                raise error
            await asyncio.Event().wait()

        return run


@pytest.fixture
def loops() -> Loops:
    return Loops()


def supervisor(store: Store, settings: SupervisorSettings = QUICK) -> LoopSupervisor:
    return LoopSupervisor(store, settings)


async def cancelled(running: asyncio.Task[None]) -> None:
    running.cancel()
    with suppress(asyncio.CancelledError):
        async with asyncio.timeout(LONGEST):
            await running


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(1), asyncio.CancelledError()])
async def test_a_loop_that_fails_is_started_again_and_its_siblings_notice_nothing(store, loops, error) -> None:
    made = supervisor(store)
    made.add("workers", loops.steady("workers"))
    made.add("ticks", loops.failing("ticks", error, times=2))
    running = asyncio.create_task(made.run())
    await until(lambda: loops.log.count("ticks begins") == 3)
    assert loops.log.count("workers begins") == 1 and "workers ends" not in loops.log
    await cancelled(running)
    events = events_of(store, "loop.failed")
    assert [(event["loop"], event["failures"]) for event in events] == [("ticks", 1), ("ticks", 2)]
    assert all("raise error" in event["traceback"] for event in events)


async def test_one_that_fails_too_often_in_a_row_ends_all_in_order(store: Store, loops: Loops) -> None:
    made = supervisor(store)
    made.add("first", loops.steady("first"))
    made.add("bad", loops.failing("bad", ValueError("no token")))
    made.add("last", loops.steady("last"))
    with pytest.raises(KeepsFailing, match=r"loop bad failed 3 times in a row, most recently: ValueError: no token"):
        async with asyncio.timeout(LONGEST):
            await made.run()
    assert loops.log.count("bad begins") == 3
    assert loops.log[-2:] == ["last ends", "first ends"]
    assert made.loops == ()


async def test_failures_count_anew_after_a_healthy_stretch(store: Store, loops: Loops) -> None:
    made = supervisor(store, replace(QUICK, healthy_seconds=0.0))
    made.add("flaky", loops.failing("flaky", ValueError("x")))
    running = asyncio.create_task(made.run())
    await until(lambda: loops.log.count("flaky begins") > 10)
    assert not running.done()
    await cancelled(running)


async def test_a_database_that_cannot_be_used_is_waited_for_however_long_it_takes(store: Store, loops: Loops) -> None:
    made = supervisor(store)
    made.add("poller", loops.failing("poller", StateUnavailable("locked"), times=12))
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        running = asyncio.create_task(made.run())
        await until(lambda: loops.log.count("poller begins") == 4)
        assert not running.done()
        other.execute("ROLLBACK")
    await until(lambda: loops.log.count("poller begins") == 13)
    assert events_of(store, "loop.failed")[-1]["failures"] == 12
    await cancelled(running)


async def test_a_damaged_database_ends_all_at_once(store: Store, loops: Loops) -> None:
    made = supervisor(store)
    made.add("first", loops.steady("first"))
    made.add("bad", loops.failing("bad", StateCorrupted("damaged")))
    with pytest.raises(StateCorrupted):
        await made.run()
    assert loops.log == ["first begins", "bad begins", "first ends"]


async def test_cancelled_it_stops_all_the_last_added_first(store: Store, loops: Loops) -> None:
    made = supervisor(store)
    for name in ("a", "b", "c"):
        made.add(name, loops.steady(name))
    running = asyncio.create_task(made.run())
    await until(lambda: len(loops.log) == 3)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert loops.log[3:] == ["c ends", "b ends", "a ends"]


async def test_loops_come_and_go_while_it_runs(store: Store, loops: Loops) -> None:
    made = supervisor(store)
    made.add("first", loops.steady("first"))
    running = asyncio.create_task(made.run())
    await until(lambda: loops.log == ["first begins"])
    made.add("titanic", loops.steady("titanic"))
    with pytest.raises(ValueError, match="duplicate loop: titanic"):
        made.add("titanic", loops.steady("titanic"))
    await until(lambda: "titanic begins" in loops.log)
    assert made.loops == ("first", "titanic")
    await made.remove("titanic")
    await made.remove("titanic")
    assert (loops.log[-1], made.loops, running.done()) == ("titanic ends", ("first",), False)
    made.add("titanic", loops.steady("titanic"))
    await until(lambda: loops.log.count("titanic begins") == 2)
    await cancelled(running)


async def test_one_that_was_added_and_removed_before_the_start_never_begins(store: Store, loops: Loops) -> None:
    made = supervisor(store)
    made.add("titanic", loops.steady("titanic"))
    await made.remove("titanic")
    await made.run()
    assert loops.log == []


async def test_it_ends_when_all_loops_have_returned(store: Store) -> None:
    async def done() -> None:
        await asyncio.sleep(0)

    made = supervisor(store)
    made.add("a", done)
    made.add("b", done)
    async with asyncio.timeout(LONGEST):
        await made.run()
    assert made.loops == ()


async def test_one_that_fails_while_it_is_stopped_is_not_started_again(store: Store) -> None:
    begun = 0

    async def clumsy() -> None:
        nonlocal begun
        begun += 1
        try:
            await asyncio.Event().wait()
        finally:
            raise ValueError("while it was stopped")

    made = supervisor(store)
    made.add("clumsy", clumsy)
    running = asyncio.create_task(made.run())
    await until(lambda: begun == 1)
    await cancelled(running)
    assert begun == 1
    assert [event["error"] for event in events_of(store, "loop.failed")] == ["ValueError: while it was stopped"]


async def test_one_that_does_not_end_does_not_keep_the_others_from_it(store, loops, caplog) -> None:
    go = asyncio.Event()

    async def deaf() -> None:
        while not go.is_set():
            with suppress(asyncio.CancelledError):
                await go.wait()

    made = supervisor(store, replace(QUICK, stop_seconds=0.05))
    made.add("first", loops.steady("first"))
    made.add("deaf", deaf)
    running = asyncio.create_task(made.run())
    await until(lambda: loops.log == ["first begins"])
    await cancelled(running)
    assert loops.log == ["first begins", "first ends"]
    assert "loop deaf is not stopping" in caplog.text
    go.set()
    await until(lambda: len(asyncio.all_tasks()) == 1)
