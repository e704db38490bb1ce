"""Ticks: one a slot of the bot's own clock, and one that makes up for whatever was missed."""

import asyncio
import time as machine
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest

from bot.daemon.schedule import Ticks
from state.clock import Clock, FastClock
from tests.bot.daemon.parts import LONGEST, PutClock, until

HOUR, DAY = 3600.0, 86_400.0
START = datetime(2017, 10, 25, 14, 20, tzinfo=UTC)


def ticks_of(
    clock: Clock,
    speed: float = 1.0,
    failed: Callable[[str, Exception], None] | None = None,
    check_seconds: float | None = None,
) -> Ticks:
    def fails(name: str, error: Exception) -> None:
        raise error

    return Ticks(clock, speed, failed=failed or fails, check_seconds=check_seconds, retry_seconds=0.05)


@asynccontextmanager
async def ticking(ticks: Ticks) -> AsyncIterator[None]:
    task = asyncio.create_task(ticks.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def past_the_hour() -> PutClock:
    """Return a clock that stands at 20 minutes past an hour, so that none begins while a test lasts."""
    clock = PutClock()
    clock.put(1200 - clock.now().timestamp() % HOUR)
    return clock


def hour_of(clock: Clock) -> datetime:
    return clock.now().replace(minute=0, second=0, microsecond=0)


@pytest.mark.integration
async def test_on_a_fast_clock_ticks_name_slots_of_that_clock_each_once() -> None:
    clock = FastClock(START, 7200.0)
    ticks, seen = ticks_of(clock, 7200.0), list[datetime]()
    ticks.add("poll", HOUR, seen.append)
    async with ticking(ticks):
        await until(lambda: len(seen) >= 3)
    assert seen[0] == START.replace(minute=0)
    assert seen == sorted(set(seen))
    assert all((one.minute, one.second, one.microsecond) == (0, 0, 0) for one in seen)
    assert seen[-1] <= clock.now()


@pytest.mark.integration
async def test_a_tick_comes_with_the_beginning_of_its_slot_and_not_before() -> None:
    clock = FastClock(START, 7200.0)
    ticks, seen = ticks_of(clock, 7200.0), list[tuple[datetime, datetime]]()
    ticks.add("poll", HOUR, lambda at: seen.append((at, clock.now())), at_start=False)
    async with ticking(ticks):
        await until(lambda: len(seen) >= 2)
    assert all(at <= now < at + timedelta(hours=1) for at, now in seen)


async def test_on_a_very_fast_clock_slots_are_left_out_and_a_name_ticks_four_times_a_second_at_most() -> None:
    clock = FastClock(START, 20_000.0)
    ticks, seen = ticks_of(clock, 20_000.0), list[datetime]()
    ticks.add("poll", 60, seen.append)
    began = machine.monotonic()
    async with ticking(ticks):
        await until(lambda: len(seen) >= 4)
        took = machine.monotonic() - began
    assert took > 0.25 * (len(seen) - 2)
    assert seen == sorted(set(seen))
    assert all(one.second == 0 for one in seen)


async def test_without_a_tick_at_the_start_the_first_is_that_of_the_next_slot() -> None:
    clock = FastClock(START, 7200.0)
    ticks, seen = ticks_of(clock, 7200.0), list[datetime]()
    ticks.add("poll", HOUR, seen.append, at_start=False)
    async with ticking(ticks):
        await until(lambda: bool(seen))
    assert seen[0] >= START.replace(hour=15, minute=0)


async def test_slots_may_be_shifted_to_keep_apart_what_is_alike() -> None:
    clock = FastClock(START, 100.0)
    ticks, seen = ticks_of(clock, 100.0), list[datetime]()
    ticks.add("poll", HOUR, seen.append, offset=1500)
    async with ticking(ticks):
        await until(lambda: bool(seen))
    assert seen == [datetime(2017, 10, 25, 13, 25, tzinfo=UTC)]


async def test_after_the_machine_slept_there_is_one_tick_for_all_that_were_missed() -> None:
    """To the process, a machine that slept and a clock that was put forward are alike."""
    clock, seen, other = past_the_hour(), list[datetime](), list[datetime]()
    ticks = ticks_of(clock, check_seconds=0.02)
    ticks.add("poll", HOUR, seen.append)
    ticks.add("look", 0.05, other.append)
    async with ticking(ticks):
        await until(lambda: len(seen) == 1)
        clock.put(5 * HOUR)
        await until(lambda: len(seen) == 2)
        count = len(other)
        await until(lambda: len(other) > count + 2)
        assert seen == [seen[0], hour_of(clock)]


async def test_a_clock_that_is_put_back_stops_no_tick_and_gives_no_slot_twice() -> None:
    clock, seen = past_the_hour(), list[datetime]()
    ticks = ticks_of(clock, check_seconds=0.02)
    ticks.add("poll", HOUR, seen.append)
    async with ticking(ticks):
        for count, seconds in enumerate((HOUR, -HOUR, HOUR, HOUR), start=1):
            await until(lambda count=count: len(seen) == count)
            clock.put(seconds)
        await until(lambda: len(seen) == 5)
    first, second, again, on, new = seen
    hour = timedelta(hours=1)
    assert (second, new) == (first + hour, first + 2 * hour)
    # As far into the slots as the clock stands.
    assert first < again < first + hour and second < on < second + hour


async def test_a_callback_that_fails_is_reported_and_called_again_for_the_same_slot_and_others_go_on() -> None:
    clock, calls, others = PutClock(), list[datetime](), list[datetime]()
    failures: list[tuple[str, Exception]] = []

    def poll(at: datetime) -> None:
        calls.append(at)
        if len(calls) < 3:
            raise ValueError("locked")

    ticks = ticks_of(clock, check_seconds=0.02, failed=lambda name, error: failures.append((name, error)))
    ticks.add("poll", 100 * DAY, poll)
    ticks.add("other", 0.3, others.append)
    async with ticking(ticks):
        await until(lambda: len(calls) == 3)
        count = len(others)
        await until(lambda: len(others) > count + 1)
    assert len(calls) == 3 and len(set(calls)) == 1
    assert [(name, str(error)) for name, error in failures] == [("poll", "locked")] * 2


@pytest.mark.integration
async def test_a_loop_that_was_held_up_is_caught_up_with_once() -> None:
    seen: list[datetime] = []
    ticks = ticks_of(PutClock(), check_seconds=0.02)
    ticks.add("poll", 0.3, seen.append)
    async with ticking(ticks), asyncio.timeout(LONGEST):
        await until(lambda: len(seen) == 1)
        machine.sleep(1.0)  # as a database does that is locked
        await until(lambda: len(seen) >= 2)
        assert seen[1] - seen[0] >= timedelta(seconds=0.6)
