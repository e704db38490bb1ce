"""Clocks, the advances of a run's clock as they are stored, and jumps of the machine's."""

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from state.clock import FastClock, StreamClock, SystemClock, back_off
from state.clock_advances import add_clock_advance, clock_advances
from state.progress import create_node, end_execution, end_node, end_run, resume_run, start_execution
from state.steps import Key, StepKind, finish_step, start_step
from state.store import Store
from state.tables import Node
from state.words import iso
from tests.state.conftest import StandingClock
from tests.state.derive import from_events, from_rows
from tests.state.rows import create_run

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
    with pytest.raises(ValueError, match="greater than 0"):
        FastClock(START, speed)


def test_a_fast_clock_starts_at_an_aware_time() -> None:
    with pytest.raises(ValueError, match="time zone"):
        FastClock(datetime(2026, 1, 1), 2)  # noqa: DTZ001 - that it is naive is the point


def test_a_streams_clock_goes_from_its_start_to_its_cutoff_and_never_back() -> None:
    cutoff = START + timedelta(days=10)
    clock = StreamClock(START, cutoff)
    assert clock.as_of() == START
    clock.move(clock.time_at(0.25))
    assert clock.as_of() == START + timedelta(days=2.5)
    with pytest.raises(ValueError, match="cannot move"):
        clock.move(clock.time_at(0.2))
    with pytest.raises(ValueError, match="cannot move"):
        clock.move(cutoff + timedelta(seconds=1))
    assert clock.as_of() == START + timedelta(days=2.5)
    clock.move(clock.time_at(1.0))
    assert clock.as_of() == cutoff


@given(st.integers(0, 10**9), st.floats(0, 1), st.floats(0, 1))
def test_more_of_its_way_is_never_earlier_and_never_after_the_cutoff(seconds: int, one: float, other: float) -> None:
    clock = StreamClock(START, START + timedelta(seconds=seconds))
    assert START <= clock.time_at(min(one, other)) <= clock.time_at(max(one, other)) <= clock.cutoff


def test_a_streams_clock_cannot_end_before_it_starts() -> None:
    with pytest.raises(ValueError, match="must not be before the start"):
        StreamClock(START, START - timedelta(seconds=1))


@given(st.integers(1, 10**6))
def test_a_pause_grows_to_its_bound(failures: int) -> None:
    assert 2.0 <= back_off(failures, 2.0, 600.0) <= back_off(failures + 1, 2.0, 600.0) <= 600.0


FIRST, SECOND = datetime(2017, 11, 1, tzinfo=UTC), datetime(2017, 11, 20, 7, 30, tzinfo=UTC)


def test_advances_are_read_back_in_order_and_each_has_its_event(tmp_path: Path) -> None:
    with Store.open(tmp_path / "state.db", SystemClock()) as store:
        with store.write() as tx:
            create_run(tx, "r", competition="c", agent="comind", model="m", seed=0, cutoff=SECOND)
            add_clock_advance(tx, "r", 0, FIRST, 2)
            add_clock_advance(tx, "r", 3, SECOND, 5)
        with store.read() as session:
            found = clock_advances(session, "r")
            assert clock_advances(session, "another") == []
        events = [event for event in store.export_events("r") if event["type"] == "clock.moved"]
    assert [(move.number, move.as_of, move.node) for move in found] == [(0, FIRST, 2), (3, SECOND, 5)]
    assert [(event["as_of"], event["before"]) for event in events] == [
        ("2017-11-01T00:00:00Z", 2),
        ("2017-11-20T07:30:00Z", 5),
    ]


def test_the_clock_moves_once_before_a_decision(tmp_path: Path) -> None:
    with Store.open(tmp_path / "state.db", SystemClock()) as store:
        with store.write() as tx:
            create_run(tx, "r", competition="c", agent="comind", model="m", seed=0, cutoff=SECOND)
            add_clock_advance(tx, "r", 0, FIRST, 2)
        with pytest.raises(ValueError, match="already"), store.write() as tx:
            add_clock_advance(tx, "r", 0, SECOND, 2)
        with store.read() as session:
            assert [move.as_of for move in clock_advances(session, "r")] == [FIRST]


DAY = 86_400.0


def test_seconds_that_were_measured_go_before_those_between_two_times(store, run_id, clock) -> None:
    with store.write() as tx:
        create_node(tx, run_id, action="draft")
    clock.pass_by(DAY)
    with store.write() as tx:
        assert end_node(tx, run_id, 1, "buggy", seconds=12.5).seconds == 12.5
    assert from_events(store.export_events(run_id)).nodes[1].seconds == 12.5


def test_a_clock_that_is_put_back_takes_no_time_away(store: Store, run_id: str, clock: StandingClock) -> None:
    with store.write() as tx:
        create_node(tx, run_id, action="draft")
    clock.pass_by(-DAY)
    with store.write() as tx:
        assert end_node(tx, run_id, 1, "buggy").seconds == 0.0


SCORED = StepKind("score", float)

_jumps = st.lists(st.sampled_from([-DAY, -3600.0, -0.5, 0.0, 0.001, 2.0, DAY]), min_size=9, max_size=9)


# The store and the clock are shared between examples on purpose: each has a run of its own.
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(jumps=_jumps)
def test_however_the_clock_jumps_a_run_is_in_order(store: Store, clock: StandingClock, jumps: list[float]) -> None:
    with store.write(durable=False) as tx:
        run = f"run {tx.record('example', run_id='examples')}"
    acts = (
        lambda tx: create_run(tx, run, competition="c", agent="a", model="m", seed=1, cutoff=None),
        lambda tx: create_node(tx, run, action="draft"),
        lambda tx: start_step(tx, run, SCORED, Key(1)),
        lambda tx: start_execution(tx, run, "e", node=1, view="holdout"),
        lambda tx: end_execution(tx, run, "e", reason="finished", exit_code=0, seconds=1.0),
        lambda tx: finish_step(tx, run, SCORED, 1.0, Key(1)),
        lambda tx: end_node(tx, run, 1, "valid", score=1.0),
        lambda tx: end_run(tx, run, "stopped"),
        lambda tx: resume_run(tx, run),
    )
    times = []
    for act, jump in zip(acts, jumps, strict=True):
        clock.pass_by(jump)
        times.append(iso(clock.now()))
        with store.write(durable=False) as tx:
            act(tx)
    events = list(store.export_events(run))
    assert [event["id"] for event in events] == list(range(1, 10))
    assert [event["at"] for event in events] == times
    assert from_events(events) == from_rows(store, run)
    with store.read() as session:
        assert (session.get_one(Node, (run, 1)).seconds or 0.0) >= 0.0
    with store.write(durable=False) as tx:
        assert start_step(tx, run, SCORED, Key(1)) == 1.0
