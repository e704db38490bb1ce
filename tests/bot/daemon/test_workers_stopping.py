"""Stopping workers: who ends in time is written down, everything else goes back, and nothing is begun any more."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from bot.daemon.supervision import TRACE_CHARACTERS, record_failure, words_of
from bot.daemon.workers import Handler, TaskOutcome, Workers, attempt
from state.errors import BotError, InfrastructureFailure, Retry, StateUnavailable
from state.store import Store
from state.tables import Task
from tests.bot.daemon.parts import LONGEST, QUICK, events_of, put, row, started, status, until

AT = datetime(2020, 1, 1, tzinfo=UTC)

TASK = Task(key="poll:titanic:1", kind="poll", created_at=AT, due_at=AT)


def raising(error: BaseException) -> Callable[[Task], Awaitable[None]]:
    async def run(task: Task) -> None:
        raise error

    return run


async def outcome(run: Callable[[Task], Awaitable[None]], *, longest: float = 30.0) -> TaskOutcome:
    return await attempt(Handler(run, max_seconds=longest), TASK, lambda: False)


async def test_a_handler_that_returns_has_done_it() -> None:
    seen: list[Task] = []

    async def run(task: Task) -> None:
        seen.append(task)

    assert await outcome(run) == TaskOutcome("done")
    assert seen == [TASK]


@pytest.mark.parametrize(
    "error",
    [ValueError("x"), SystemExit(1), InfrastructureFailure("x"), TimeoutError("a site"), asyncio.CancelledError()],
)
async def test_whatever_it_raises_has_failed(error: BaseException) -> None:
    assert await outcome(raising(error)) == TaskOutcome("failed", error)


async def test_it_may_set_when_to_try_again() -> None:
    error = Retry(90, "the quota is used up", counted=False)
    assert await outcome(raising(error)) == TaskOutcome("later", error, 90, counted=False)
    assert (await outcome(raising(Retry(-5)))).seconds == 0


async def test_a_failure_of_the_database_is_not_the_tasks() -> None:
    error = StateUnavailable("locked")
    assert await outcome(raising(error)) == TaskOutcome("later", error, None, counted=False)


async def test_what_takes_too_long_is_broken_off_and_the_trace_says_where_it_hung() -> None:
    async def hang(task: Task) -> None:
        await asyncio.Event().wait()

    ended = await outcome(hang, longest=0.02)
    assert ended.kind == "failed"
    assert str(ended.error) == "it exceeded its time limit of 0.02 s"
    assert isinstance(ended.error, TimeoutError) and isinstance(ended.error.__cause__, TimeoutError)


async def test_what_is_broken_off_by_the_end_of_the_workers_has_not_failed() -> None:
    begun = asyncio.Event()

    async def hang(task: Task) -> None:
        begun.set()
        await asyncio.Event().wait()

    work = asyncio.create_task(attempt(Handler(hang), TASK, lambda: True))
    await begun.wait()
    work.cancel()
    assert await work == TaskOutcome("released")


def test_an_error_of_ours_speaks_for_itself_and_any_other_has_its_type_before_it() -> None:
    assert words_of(BotError("the disk\n is full")) == "the disk is full"
    assert words_of(KeyError("x")) == "KeyError: 'x'"


def test_the_end_of_a_traceback_is_kept(store: Store) -> None:
    def deep(levels: int) -> None:
        if not levels:
            raise ValueError("at the bottom")
        deep(levels - 1)

    try:
        deep(200)
    except ValueError as error:
        error.add_note("x" * TRACE_CHARACTERS)
        error.add_note("the last line")
        with store.write() as tx:
            record_failure(tx, "loop.failed", error, loop="workers")
    (event,) = events_of(store, "loop.failed")
    assert (event["error"], event["loop"]) == ("ValueError: at the bottom", "workers")
    assert len(event["traceback"]) == TRACE_CHARACTERS
    assert event["traceback"].endswith("the last line\n")


KEY = "poll:titanic:1"


class Slow:
    """A handler that ends on demand, and records how it ended."""

    def __init__(self) -> None:
        self.begun, self.go, self.is_cancelled = asyncio.Event(), asyncio.Event(), False

    async def run(self, task: Task) -> None:
        self.begun.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.is_cancelled = True
            raise


def workers(store: Store, handler: Handler) -> Workers:
    return Workers(store, store.clock, {"poll": handler}, QUICK)


async def test_what_ends_within_the_grace_is_done_and_nothing_new_is_begun(store: Store) -> None:
    slow = Slow()
    put(store, KEY, "poll:spooky:1")
    async with started(workers(store, Handler(slow.run))) as made:
        await slow.begun.wait()
        stopping = asyncio.create_task(made.stop(LONGEST))
        await asyncio.sleep(0)
        slow.go.set()
        await stopping
        assert sorted([status(store, KEY), status(store, "poll:spooky:1")]) == ["done", "queued"]
        assert made.running == ()
    assert not slow.is_cancelled


async def test_without_enough_grace_it_goes_back_as_though_it_had_not_been_begun(store: Store) -> None:
    slow = Slow()
    put(store, KEY)
    async with started(workers(store, Handler(slow.run))) as made:
        await slow.begun.wait()
        await made.stop(0.05)
    assert slow.is_cancelled
    task = row(store, KEY)
    assert (task.status, task.owner, task.tries, task.interruptions, task.error) == ("queued", None, 0, 0, None)
    assert events_of(store, "task.failed") == []


async def test_workers_that_are_cancelled_put_back_what_they_worked_on(store: Store) -> None:
    slow = Slow()
    put(store, KEY)
    async with started(workers(store, Handler(slow.run))):
        await slow.begun.wait()
    assert slow.is_cancelled
    assert status(store, KEY) == "queued"


async def test_what_a_handler_makes_of_its_cancellation_is_heard(store: Store) -> None:
    begun = asyncio.Event()

    async def done_all_the_same(task: Task) -> None:
        begun.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()

    async def not_now(task: Task) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError as error:
            raise Retry(3600, "not now", counted=False) from error

    for number, (run, expected) in enumerate([(done_all_the_same, "done"), (not_now, "queued")]):
        begun.clear()
        put(store, f"poll:titanic:{number}")
        async with started(workers(store, Handler(run))) as made:
            await begun.wait()
            await made.stop(0.0)
        assert status(store, f"poll:titanic:{number}") == expected


async def test_one_that_does_not_end_keeps_nobody_and_is_taken_back_at_the_next_start(store: Store) -> None:
    go, begun = asyncio.Event(), 0

    async def deaf(task: Task) -> None:
        nonlocal begun
        begun += 1
        while not go.is_set():
            with suppress(asyncio.CancelledError):
                await go.wait()

    put(store, KEY)
    settings = replace(QUICK, cancel_seconds=0.05)
    made = Workers(store, store.clock, {"poll": Handler(deaf)}, settings)
    async with started(made):
        await until(lambda: begun == 1)
        await made.stop(0.0)
    assert status(store, KEY) == "leased"
    again = Workers(store, store.clock, {"poll": Handler(deaf)}, settings)
    async with started(again):
        await until(lambda: begun == 2)
        go.set()
        await until(lambda: status(store, KEY) == "done")
    assert row(store, KEY).interruptions == 1
    await until(lambda: len(asyncio.all_tasks()) == 1)


async def test_the_same_workers_started_again_do_not_begin_what_still_runs(store: Store) -> None:
    go, begun = asyncio.Event(), 0

    async def deaf(task: Task) -> None:
        nonlocal begun
        begun += 1
        while not go.is_set():
            with suppress(asyncio.CancelledError):
                await go.wait()

    put(store, KEY)
    made = Workers(store, store.clock, {"poll": Handler(deaf)}, replace(QUICK, cancel_seconds=0.05))
    async with started(made):
        await until(lambda: begun == 1)
    async with started(made):
        turns = made.turns
        await until(lambda: made.turns > turns + 2)
        go.set()
        await until(lambda: status(store, KEY) == "done")
    assert begun == 1


async def test_a_database_that_cannot_be_used_does_not_keep_them_from_stopping(store: Store) -> None:
    slow = Slow()
    put(store, KEY)
    async with started(workers(store, Handler(slow.run))) as made:
        await slow.begun.wait()
        with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            slow.go.set()
            async with asyncio.timeout(LONGEST):
                await made.stop(0.1)
    assert status(store, KEY) == "leased"


async def test_who_stops_before_they_run_has_them_do_nothing(store: Store) -> None:
    slow = Slow()
    put(store, KEY)
    made = workers(store, Handler(slow.run))
    await made.stop(LONGEST)
    await made.run()
    assert (made.turns, status(store, KEY)) == (0, "queued")
