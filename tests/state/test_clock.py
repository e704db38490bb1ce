"""Clocks."""

import time
from datetime import UTC, datetime, timedelta

import pytest

from state.clock import FastClock

START = datetime(2026, 1, 1, tzinfo=UTC)


async def test_a_fast_clock_runs_so_many_times_faster() -> None:
    clock = FastClock(START, speed=86_400)
    await clock.sleep(3_600)  # a 24th of a second
    assert clock.now() >= START + timedelta(hours=1)
    assert clock.as_of() >= START + timedelta(hours=1)


def test_two_fast_clocks_that_are_told_the_same_have_the_same_time() -> None:
    began = time.time() - 10
    first, second = FastClock(START, 60, began), FastClock(START, 60, began)
    assert first.now() <= second.now() <= first.now()
    assert first.now() >= START + timedelta(minutes=10)


@pytest.mark.parametrize("speed", [0, -1, float("nan")])
def test_a_clock_does_not_stand_still_or_run_backwards(speed: float) -> None:
    with pytest.raises(ValueError, match="above 0"):
        FastClock(START, speed)


def test_a_fast_clock_starts_at_an_aware_time() -> None:
    with pytest.raises(ValueError, match="aware"):
        FastClock(datetime(2026, 1, 1), 2)  # noqa: DTZ001 - that it is naive is the point
