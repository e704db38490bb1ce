"""One try of a task: whatever its handler raises is an outcome, and an event in one line."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import pytest

from bot.daemon.supervision import TRACE_CHARACTERS, record_failure, words_of
from bot.daemon.workers import Handler, TaskOutcome, attempt
from state.errors import BotError, InfrastructureFailure, Retry, StateUnavailable
from state.store import Store
from state.tables import Task
from tests.bot.daemon.parts import events_of

AT = datetime(2020, 1, 1, tzinfo=UTC)

TASK = Task(key="poll:titanic:1", kind="poll", created_at=AT, due_at=AT)


def raising(error: BaseException) -> Callable[[Task], Awaitable[None]]:
    async def run(task: Task) -> None:
        raise error

    return run


async def outcome(run: Callable[[Task], Awaitable[None]], *, longest: float = 30.0) -> TaskOutcome:
    return await attempt(Handler(run, longest=longest), TASK, lambda: False)


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
