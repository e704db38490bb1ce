"""Where notebooks stand: derived from events alone, each package for itself."""

from dataclasses import replace
from typing import get_args

from state.notebooks import REFUSED, REMOVED, NotebookState, Stage, failures_of, notebook_states, record_stage
from state.store import Store

ONE, OTHER = "1" * 64, "2" * 64


def states(store: Store, run_id: str) -> dict[str, NotebookState]:
    with store.read() as session:
        return dict(notebook_states(session, run_id))


def test_a_package_stands_where_its_last_event_says_and_keeps_what_earlier_ones_said(store, run_id, clock) -> None:
    with store.write() as tx:
        record_stage(tx, run_id, 3, ONE, "uploaded", data_set="me/weights")
        record_stage(tx, run_id, 4, OTHER, "pushing", ref="me/other")
        record_stage(tx, "another run", 3, ONE, "failed", why="x")
    clock.pass_by(60)
    with store.write() as tx:
        record_stage(tx, run_id, 3, ONE, "pushed", ref="me/one", version=1)
    found = states(store, run_id)
    assert found[ONE] == NotebookState(3, "pushed", clock.now(), "me/one", 1, "me/weights")
    assert (found[OTHER].stage, found[OTHER].ref) == ("pushing", "me/other")
    with store.read() as session:
        assert list(notebook_states(session, run_id, OTHER)) == [OTHER]


def test_what_is_removed_stands_where_it_stood(store: Store, run_id: str) -> None:
    with store.write() as tx:
        record_stage(tx, run_id, 3, ONE, "ran", ref="me/one", version=1)
    before = states(store, run_id)[ONE]
    with store.write() as tx:
        tx.record(REMOVED, run_id=run_id, node=3, package=ONE)
    assert states(store, run_id)[ONE] == replace(before, removed=True)


def test_the_last_reason_of_a_node_counts_whether_it_was_rehearsed_or_pushed(store: Store, run_id: str) -> None:
    with store.write() as tx:
        record_stage(tx, run_id, 3, ONE, "failed", why="it ran out of memory", log="a" * 9_000 + "the end")
        tx.record(REFUSED, run_id=run_id, node=4, why="it is too slow")
        tx.record(REFUSED, run_id=run_id, node=4, why="it hard-codes its rows")
    with store.read() as session:
        assert failures_of(session, run_id) == {3: "it ran out of memory", 4: "it hard-codes its rows"}
    log = states(store, run_id)[ONE].log
    assert log.endswith("the end") and len(log) < 5_000


def test_every_stage_has_its_sentence(store: Store, run_id: str) -> None:
    for stage in get_args(Stage):
        with store.write() as tx:
            record_stage(tx, run_id, 3, ONE, stage, ref="me/one", version=1, why="no reason")
        sentence = states(store, run_id)[ONE].sentence
        assert sentence.startswith("it") and not sentence.endswith(".")
