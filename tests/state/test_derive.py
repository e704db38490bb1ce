"""How a run stands by its events is how it stands by its rows."""

import json
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from state.progress import create_node, end_execution, end_node, end_run, resume_run, start_execution, update_node
from state.spending import Spent, charge
from state.store import Store, Transaction
from state.submissions import update_submission
from tests.state.conftest import StandingClock
from tests.state.derive import from_events, from_rows
from tests.state.rows import add_evaluation, add_submission, create_run


def test_a_whole_run_can_be_derived_from_its_events_alone(store: Store, run_id: str, clock: StandingClock) -> None:
    with store.write() as tx:
        create_node(tx, run_id, action="draft", plan="p", draft_id="d1", model="m")
        start_execution(tx, run_id, "e1", node=1, view="holdout")
        charge(tx, run_id, "tokens", node=1, prompt_tokens=100, completion_tokens=10, cost_usd=0.1)
        charge(tx, run_id, "tokens", node=1, prompt_tokens=200, completion_tokens=20)
    clock.pass_by(7)
    with store.write() as tx:
        end_execution(tx, run_id, "e1", reason="finished", exit_code=0, seconds=6.5, log="done")
        charge(tx, run_id, "execution", node=1, seconds=6.5)
        add_evaluation(tx, run_id, "e1", score=0.4, valid=True)
        update_node(tx, run_id, 1, code="print()")
        end_node(tx, run_id, 1, "valid", score=0.4)
        create_node(tx, run_id, action="improve", parents=[1])
        end_node(tx, run_id, 2, "buggy", error="ValueError")
        create_node(tx, run_id, action="merge", parents=[1, 2])
        start_execution(tx, run_id, "e2", node=3, view="fold 1/5")
        add_submission(tx, run_id, "s1", node=1, tag="t", status="intended", handed_in="refit")
        update_submission(tx, run_id, "s1", score=0.41)
        end_run(tx, run_id, "finished")
    derived = from_events(json.loads(json.dumps(event)) for event in store.export_events(run_id))
    assert derived == from_rows(store, run_id)
    assert derived.status == "finished"
    assert [node.status for node in derived.nodes.values()] == ["valid", "buggy", "running"]
    assert derived.executions["e2"].reason is None
    assert derived.submissions["s1"].score == 0.41
    assert derived.ledger["tokens"] == Spent(2, 300, 30, 0.1, 0.0, unpriced=1)


_score = st.none() | st.floats(-10, 10)
_Act = Callable[[Transaction, str], object]


def _end(node: int, status: str, score: float | None) -> _Act:
    if status == "valid":
        return lambda tx, run: end_node(tx, run, node, "valid", score=score)
    return lambda tx, run: end_node(tx, run, node, "buggy" if status == "buggy" else "failed", error="e")


_nodes = st.integers(1, 3)
_acts: st.SearchStrategy[_Act] = st.one_of(
    st.builds(
        lambda a, p: lambda tx, run: create_node(tx, run, action=a, parents=p), st.sampled_from(["draft"]), st.just([1])
    ),
    st.builds(lambda n, code: lambda tx, run: update_node(tx, run, n, code=code), _nodes, st.text(max_size=3)),
    st.builds(_end, _nodes, st.sampled_from(["valid", "buggy", "failed"]), _score),
    st.builds(
        lambda e, n, a: lambda tx, run: start_execution(tx, run, f"e{e}", node=n, view="holdout", attempt=a),
        _nodes,
        _nodes,
        _nodes,
    ),
    st.builds(
        lambda e, r, log: lambda tx, run: end_execution(tx, run, f"e{e}", reason=r, exit_code=1, seconds=0.5, log=log),
        _nodes,
        st.sampled_from(["finished", "error", "timed_out"]),
        st.none() | st.text(max_size=3),
    ),
    st.builds(lambda s, x: lambda tx, run: update_submission(tx, run, f"s{s}", score=x), _nodes, st.floats(-10, 10)),
    st.builds(
        lambda k, p, c, s: lambda tx, run: charge(tx, run, k, prompt_tokens=p, cost_usd=c, seconds=s),
        st.sampled_from(["tokens", "money"]),
        st.integers(0, 10**6),
        st.none() | st.floats(0, 5),
        st.none() | st.floats(0, 5),
    ),
    st.builds(lambda over: lambda tx, run: end_run(tx, run, "stopped") if over else resume_run(tx, run), st.booleans()),
)


# The store is shared between examples on purpose: each has a run of its own in it.
@pytest.mark.integration
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(acts=st.lists(_acts, max_size=20))
def test_whatever_happens_in_a_run_its_events_record(store: Store, acts: list[_Act]) -> None:
    with store.write() as tx:
        run = f"run {tx.record('example', run_id='examples')}"
        create_run(tx, run, competition="c", agent="a", model="m", seed=1, cutoff=None)
        for n in (1, 2, 3):
            create_node(tx, run, action="draft")
            start_execution(tx, run, f"e{n}", node=n, view="sample")
            add_submission(tx, run, f"s{n}", node=n, tag=f"{run} t{n}", status="intended", handed_in="holdout")
        for act in acts:
            act(tx, run)
    assert from_events(store.export_events(run)) == from_rows(store, run)
