"""Clocks."""

import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from state.clock import FastClock, StreamClock, back_off

START = datetime(2026, 1, 1, tzinfo=UTC)


async def test_a_fast_clock_runs_as_many_times_faster_as_its_speed() -> None:
    clock = FastClock(START, speed=86_400)
    await clock.sleep(3_600)  # a 24th of a second
    assert clock.now() >= START + timedelta(hours=1)
    assert clock.as_of() >= START + timedelta(hours=1)


def test_two_fast_clocks_with_the_same_arguments_have_the_same_time() -> None:
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


def test_a_streams_clock_goes_from_its_start_to_its_cutoff_and_never_back() -> None:
    cutoff = START + timedelta(days=10)
    clock = StreamClock(START, cutoff)
    assert clock.as_of() == START
    clock.move(clock.at(0.25))
    assert clock.as_of() == START + timedelta(days=2.5)
    with pytest.raises(ValueError, match="cannot move"):
        clock.move(clock.at(0.2))
    with pytest.raises(ValueError, match="cannot move"):
        clock.move(cutoff + timedelta(seconds=1))
    assert clock.as_of() == START + timedelta(days=2.5)
    clock.move(clock.at(1.0))
    assert clock.as_of() == cutoff


@given(st.integers(0, 10**9), st.floats(0, 1), st.floats(0, 1))
def test_more_of_its_way_is_never_earlier_and_never_after_the_cutoff(seconds: int, one: float, other: float) -> None:
    clock = StreamClock(START, START + timedelta(seconds=seconds))
    assert START <= clock.at(min(one, other)) <= clock.at(max(one, other)) <= clock.cutoff


def test_a_streams_clock_cannot_end_before_it_starts() -> None:
    with pytest.raises(ValueError, match="not before the start"):
        StreamClock(START, START - timedelta(seconds=1))


@given(st.integers(1, 10**6))
def test_a_pause_grows_to_its_bound(failures: int) -> None:
    assert 2.0 <= back_off(failures, 2.0, 600.0) <= back_off(failures + 1, 2.0, 600.0) <= 600.0
