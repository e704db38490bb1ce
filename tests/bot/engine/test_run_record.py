"""The record of a run: each fact that status, page, report, notifications and prompts show, and what it never tells."""

import dataclasses
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.coder.lab.steps import TURN
from bot.engine.attempts import BLEND
from bot.engine.run_record import NodeCounts, Pool, RunRecord
from bot.evaluation.answers import NodeScore
from bot.evaluation.answers.experiments import Arrays, ScoredExperiment
from bot.evaluation.answers.findings import guard_passed, not_run, suspicious
from bot.execution.folder import lower_is_better
from bot.execution.guarding import record_findings
from bot.execution.record import EXECUTED, GUARDED
from bot.submission.final_selection import SELECTED
from state.errors import UsageError
from state.experiments import add_experiment
from state.knowledge import add_idea, close_idea
from state.labs import open_lab
from state.live import latest_runs
from state.progress import create_node, end_node, resume_run, start_execution
from state.steps import Key, StepKind, finish_step, start_step
from state.store import Store
from state.tables import Run
from tests.bot.execution.ended import ended
from tests.bot.status.parts import NOW, RUN, busy, opened
from tests.state.conftest import START, StandingClock, clock, run_id, store
from tests.state.rows import add_draft, create_run

__all__ = ["clock", "run_id", "store"]

SECRET = 0.123456789
"""A score on the internal test."""


@pytest.fixture
def record(tmp_path: Path) -> Iterator[RunRecord]:
    """The record of a live run on a busy day."""
    with opened(tmp_path, busy(tmp_path)) as store, store.read() as session:
        yield RunRecord.load(session, RUN)


def with_config(record: RunRecord, config: dict[str, Any]) -> RunRecord:
    return RunRecord(record._session, Run(id=record.id, config=config, gaps=[]))


def test_nodes_are_counted_by_status_and_the_best_is_by_the_metrics_direction(record: RunRecord) -> None:
    assert record.counts == NodeCounts(1, 2, 1, 1, 3, 0.4)
    assert record.pool == Pool(2, 2, 1, 1)
    assert [score for _, score in record.best_over_time(NOW)] == [0.5, 0.4]
    assert record.best_over_time(START) == []
    upwards = with_config(record, {"card": {"metric": {"direction": "maximize"}}})
    assert upwards.counts == NodeCounts(1, 2, 1, 1, 1, 0.5)
    assert [score for _, score in upwards.best_over_time()] == [0.5]
    unknown = with_config(record, {})
    assert (unknown.counts.best_score, unknown.best_over_time()) == (None, [])


def test_the_metrics_direction_is_the_cards_and_else_unknown() -> None:
    assert lower_is_better({"card": {"metric": {"direction": "maximize"}}}) is False
    for config in ({}, {"card": None}, {"card": {"metric": {"direction": "sideways"}}}):
        assert lower_is_better(config) is None


def test_what_is_worked_on_is_shown_with_its_execution(record: RunRecord) -> None:
    (work,) = record.doing
    assert (work.node, work.action, work.execution) == (4, "improve", "n4-holdout-0")
    assert work.since == "2026-11-20T08:00:00Z"


def test_what_labs_and_idle_time_are_at_is_shown_and_what_an_earlier_start_left_is_not(
    store: Store, run_id: str, clock: StandingClock
) -> None:
    thinks, replied = StepKind("turn:2", dict[str, str]), StepKind("turn:1", dict[str, str])
    with store.write() as tx:
        for lab in (1, 2, 3):
            open_lab(tx, run_id, lab, draft_id=None, parents=[], title="trees")
        start_step(tx, run_id, TURN, Key(3, attempt=7))
        tx.record("idle.started", run_id=run_id, name="fit-plain-ridge")
        clock.pass_by(60)
        resume_run(tx, run_id)
    with store.read() as session:
        record = RunRecord.load(session, run_id)
        assert (record.doing, record.phase) == ((), "preparing")
    with store.write() as tx:
        start_step(tx, run_id, replied, Key(1))
        finish_step(tx, run_id, replied, {"text": "```sh\npython train.py\n```"}, Key(1))
        start_step(tx, run_id, TURN, Key(1, attempt=1))
        start_step(tx, run_id, thinks, Key(2))
        start_step(tx, run_id, BLEND)
        for type, name in (("started", "fit-a"), ("started", "fit-b"), ("ended", "fit-a")):
            tx.record(f"idle.{type}", run_id=run_id, name=name)
        start_step(tx, run_id, SELECTED, Key())
    with store.read() as session:
        record = RunRecord.load(session, run_id)
        assert [work.sentence for work in record.doing] == [
            "lab 1: python train.py",
            "lab 2: waiting for its model",
            "engine: fits the ensemble",
            "engine: fit-b",
        ]
        assert record.phase == "selection"


def test_a_node_shows_the_call_or_the_substep_that_it_is_at(store: Store, run_id: str, clock: StandingClock) -> None:
    def shown() -> str:
        with store.read() as session:
            (work,) = RunRecord.load(session, run_id).doing
        return f"{work.sentence} since {work.since[11:16]}"

    def begin(name: str, result: dict[str, str] | None = None) -> None:
        clock.pass_by(60)
        kind = StepKind(name, dict[str, str])
        with store.write() as tx:
            start_step(tx, run_id, kind, Key(4))
            if result is not None:
                finish_step(tx, run_id, kind, result, Key(4))

    with store.write() as tx:
        create_node(tx, run_id, action="draft", id=4)
    begin("plan", {"text": "a plan"})
    before = shown()
    begin("write")
    assert (before.partition(" since")[0], shown().partition(" since")[0]) == (
        "node 4: draft",
        "node 4: draft, writing",
    )
    assert before[-5:] < shown()[-5:]
    begin("substep 2: 0", {"text": "some code"})
    begin("substep 2: 1", {"text": "better code"})
    with store.write() as tx:
        start_execution(tx, run_id, "n4-sample-1", node=4, view="sample")
    assert shown().startswith("node 4: draft, substep 2, rewrite 1, runs on a sample since")


def test_of_several_live_runs_the_latest_counts_and_a_run_that_is_not_there_has_no_record(store: Store) -> None:
    with store.write() as tx:
        for id, cutoff in (("past", START), ("old", None), ("new", None)):
            create_run(tx, id, competition="wine", agent="a", model="m", seed=0, cutoff=cutoff)
    with store.read() as session:
        assert latest_runs(session)["wine"].id == "old", "of two of one time the later name"
        with pytest.raises(UsageError, match="run another not found in the database"):
            RunRecord.load(session, "another")


def test_what_did_not_pass_is_shown_latest_first_and_before_it_that_scores_are_self_reported(
    store: Store, run_id: str
) -> None:
    with store.write() as tx:
        create_node(tx, run_id, action="draft", id=4)
        record_findings(tx, run_id, [guard_passed("ids", "fine"), suspicious("time", "the future is known")])
        record_findings(tx, run_id, [guard_passed("too good", "it is not")], node=4)
        record_findings(tx, run_id, [not_run("copied", "it broke"), suspicious("constant", "all alike")], node=4)
    found = [(4, "copied (not run): it broke; constant (suspicious): all alike")]
    found.append((None, "time (suspicious): the future is known"))
    with store.read() as session:
        assert [(one.node, one.sentence) for one in RunRecord.load(session, run_id).doubts()] == found
    with store.write() as tx:
        end_node(tx, run_id, 4, "valid", score=0.5, self_reported=True)
    with store.read() as session:
        first, *others = RunRecord.load(session, run_id).doubts()
    assert first.node is None and "self-reported" in first.sentence
    assert [(one.node, one.sentence) for one in others] == found


def test_the_internal_test_is_in_no_value_before_the_end(store: Store, run_id: str) -> None:
    """Law: unless it is loaded as final, nothing that a record holds has the score."""
    with store.write() as tx:
        create_node(tx, run_id, action="draft", id=1)
        start_step(tx, run_id, EXECUTED, Key(1, GUARDED))
        finish_step(tx, run_id, EXECUTED, ended(score=NodeScore(value=0.5, final=SECRET)), Key(1, GUARDED))
        end_node(tx, run_id, 1, "valid", score=0.5)
        create_node(tx, run_id, action="improve", id=2)
        scored = ScoredExperiment(Arrays(), 0.5, None, None, SECRET)
        add_experiment(tx, run_id, 2, name="a", kind="model", result=dataclasses.asdict(scored))
    with store.read() as session:
        for final in (False, True):
            record = RunRecord.load(session, run_id, final=final)
            names = [name for name in vars(RunRecord) if not name.startswith("_")]
            values = [getattr(record, name) for name in names if not callable(getattr(record, name))]
            values += [record.execution_of(1), record.execution_of(2), record.doubts(), record.best_over_time()]
            assert (str(SECRET) in repr(values)) is final


def test_what_was_derived_later_is_hidden_with_the_nodes_that_rest_on_it(
    store: Store, run_id: str, clock: StandingClock
) -> None:
    later = START + timedelta(hours=1)
    clock.time = later
    with store.write() as tx:
        add_idea(tx, run_id, text="early", sources=[], known_at=START)
        add_idea(tx, run_id, text="late", sources=[], known_at=later)
        close_idea(tx, run_id, 1, "retired", reason="late news", known_at=later)
        add_draft(tx, run_id, "1", title="early", description="d", known_at=START)
        add_draft(tx, run_id, "2", title="late", description="d", known_at=later)
        for node, draft, parents in ((1, None, []), (2, "1", [1]), (3, "2", []), (4, None, [3, 1])):
            create_node(tx, run_id, id=node, action="draft", draft_id=draft, parents=parents)
    with store.read() as session:
        then, now = RunRecord.load(session, run_id, START), RunRecord.load(session, run_id)
        assert [(idea.text, idea.state) for idea in then.ideas] == [("early", "live")]
        assert (list(then.nodes), list(then.titles.values())) == ([1, 2], ["early"])
        assert list(now.nodes) == [1, 2, 3, 4]
    with store.read() as session:
        assert [idea.state for idea in RunRecord.load(session, run_id).ideas] == ["retired", "live"]
