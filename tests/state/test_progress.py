"""Progress: rows and events of nodes, executions, evaluations and submissions, which say the same."""

import json
import math
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy.exc import IntegrityError, NoResultFound
from sqlmodel import select

from state.progress import create_node, end_execution, end_node, end_run, resume_run, start_execution, update_node
from state.spending import Spending, charge
from state.store import Store, Transaction
from state.submissions import update_submission
from state.tables import Evaluation, Execution, Node, Run
from tests.state.conftest import StandingClock
from tests.state.derive import from_events, from_rows
from tests.state.rows import add_evaluation, add_submission, create_run


def test_nodes_are_numbered_from_one_within_their_run(store: Store, run_id: str) -> None:
    with store.write() as tx:
        first = create_node(tx, run_id, action="draft", code="print(1)")
        second = create_node(tx, run_id, action="improve", parents=[first.id])
        elsewhere = create_node(tx, "other", action="draft")
    assert (first.id, second.id, elsewhere.id) == (1, 2, 1)
    assert second.parents == [1]
    assert store.blob(first.code_sha or "") == b"print(1)"


def test_a_node_that_is_there_is_not_begun_twice(store: Store, run_id: str) -> None:
    with store.write() as tx:
        create_node(tx, run_id, action="draft", id=4, plan="first")
    with store.write() as tx:
        again = create_node(tx, run_id, action="draft", id=4, plan="second")
    assert again.plan == "first"
    assert [e["node"] for e in store.export_events(run_id) if e["type"] == "node.created"] == [4]


def test_a_nodes_seconds_are_those_between_its_events(store: Store, run_id: str, clock: StandingClock) -> None:
    with store.write() as tx:
        create_node(tx, run_id, action="draft")
    clock.pass_by(12.5)
    with store.write() as tx:
        update_node(tx, run_id, 1, code="print(2)", plan="plan")
        node = end_node(tx, run_id, 1, "valid", score=0.25)
    assert (node.seconds, node.status, node.score, node.plan) == (12.5, "valid", 0.25, "plan")


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_no_score(store: Store, run_id: str, score: float) -> None:
    with store.write() as tx:
        create_node(tx, run_id, action="draft")
        start_execution(tx, run_id, "e", node=1, view="holdout")
        with pytest.raises(ValueError, match="not a score"):
            end_node(tx, run_id, 1, "valid", score=score)
        with pytest.raises(ValueError, match="not a score"):
            add_evaluation(tx, run_id, "e", score=score, valid=True)
        add_submission(tx, run_id, "s", node=1, tag="t", status="confirmed", prediction_source="refit")
        with pytest.raises(ValueError, match="not a score"):
            update_submission(tx, run_id, "s", score=score)


def test_what_is_not_valid_has_no_score(store: Store, run_id: str) -> None:
    with store.write() as tx:
        create_node(tx, run_id, action="draft")
        start_execution(tx, run_id, "e", node=1, view="holdout")
        with pytest.raises(ValueError, match="only a valid"):
            end_node(tx, run_id, 1, "buggy", score=0.5)
        with pytest.raises(ValueError, match="only a valid"):
            add_evaluation(tx, run_id, "e", score=0.5, valid=False)


def test_an_execution_that_was_cut_short_starts_anew(store: Store, run_id: str, clock: StandingClock) -> None:
    with store.write() as tx:
        create_node(tx, run_id, action="draft")
        start_execution(tx, run_id, "e", node=1, view="holdout")
        end_execution(tx, run_id, "e", reason="stopped", exit_code=None, seconds=3.0)
    clock.pass_by(60)
    with store.write() as tx:
        start_execution(tx, run_id, "e", node=1, view="holdout")
    with store.read() as session:
        row = session.exec(select(Execution)).one()
    assert (row.reason, row.seconds, row.started_at) == (None, None, clock.now())


def test_the_log_of_an_execution_is_a_body(store: Store, run_id: str) -> None:
    with store.write() as tx:
        create_node(tx, run_id, action="draft")
        start_execution(tx, run_id, "e", node=1, view="holdout")
        row = end_execution(tx, run_id, "e", reason="finished", exit_code=0, seconds=1.0, log="fold 1: 0.3")
    assert store.blob(row.log_sha or "") == b"fold 1: 0.3"


def test_an_evaluation_takes_node_and_view_from_its_execution(store: Store, run_id: str) -> None:
    with store.write() as tx:
        create_node(tx, run_id, action="draft")
        start_execution(tx, run_id, "e", node=1, view="fold 2/5")
        add_evaluation(tx, run_id, "e", score=None, valid=False, message="no submission.csv")
        add_evaluation(tx, run_id, "e", score=0.0, valid=True)
    with store.read() as session:
        row = session.exec(select(Evaluation)).one()
    assert (row.node, row.view, row.score, row.valid, row.message) == (1, "fold 2/5", 0.0, True, None)


def test_a_submission_is_written_down_once(store: Store, run_id: str) -> None:
    with store.write() as tx:
        add_submission(tx, run_id, "s", node=1, tag="t", status="intended", prediction_source="refit")
    with pytest.raises(IntegrityError), store.write() as tx:
        add_submission(tx, run_id, "s", node=1, tag="t", status="intended", prediction_source="refit")
    with store.write() as tx:
        row = update_submission(tx, run_id, "s", score=0.0)
    assert (row.status, row.score) == ("intended", 0.0)


def test_a_run_ends_and_goes_on(store: Store, run_id: str) -> None:
    with store.write() as tx:
        end_run(tx, run_id, "stopped")
        assert resume_run(tx, run_id).status == "running"
        end_run(tx, run_id, "finished")
    with store.read() as session:
        assert session.get_one(Run, run_id).status == "finished"
    types = [event["type"] for event in store.export_events(run_id)]
    assert types == ["run.created", "run.ended", "run.resumed", "run.ended"]


def test_a_run_is_begun_once(store: Store, run_id: str) -> None:
    with pytest.raises(IntegrityError), store.write() as tx:
        create_run(tx, run_id, competition="wine", agent="aide", model="builtin", seed=1, cutoff=None)


def test_an_unknown_node_cannot_end(store: Store, run_id: str) -> None:
    with pytest.raises(NoResultFound), store.write() as tx:
        end_node(tx, run_id, 9, "buggy")
    with store.read() as session:
        assert session.exec(select(Node)).all() == []


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
        add_submission(tx, run_id, "s1", node=1, tag="t", status="intended", prediction_source="refit")
        update_submission(tx, run_id, "s1", score=0.41)
        end_run(tx, run_id, "finished")
    derived = from_events(json.loads(json.dumps(event)) for event in store.export_events(run_id))
    assert derived == from_rows(store, run_id)
    assert derived.status == "finished"
    assert [node.status for node in derived.nodes.values()] == ["valid", "buggy", "running"]
    assert derived.executions["e2"].reason is None
    assert derived.submissions["s1"].score == 0.41
    assert derived.ledger["tokens"] == Spending(2, 300, 30, 0.1, 0.0, unpriced=1)


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
    st.builds(lambda e, n: lambda tx, run: start_execution(tx, run, f"e{e}", node=n, view="holdout"), _nodes, _nodes),
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
            add_submission(tx, run, f"s{n}", node=n, tag=f"{run} t{n}", status="intended", prediction_source="holdout")
        for act in acts:
            act(tx, run)
    assert from_events(store.export_events(run)) == from_rows(store, run)
