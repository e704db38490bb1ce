"""The machine's clock may jump: the order of events is their number's, and no work takes less than no time."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from state.progress import create_node, end_execution, end_node, end_run, resume_run, start_execution
from state.steps import Key, Kind, finish_step, start_step
from state.store import Store
from state.tables import Node
from state.words import iso
from tests.state.conftest import StandingClock
from tests.state.derive import from_events, from_rows
from tests.state.rows import create_run

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


SCORED = Kind("score", float)
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
