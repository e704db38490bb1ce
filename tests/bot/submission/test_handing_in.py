"""Handing in: the chosen node's file is placed and confirmed, also when the run hands in more than once."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from bot.agents.builtin import baseline_script
from bot.engine.budget import RunBudget
from bot.engine.context import RunContext
from bot.engine.decisions import Decisions
from bot.engine.tree import NodeView, Tree
from bot.evaluation.client.worker import Worker
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.execution.executor import Executor, ExecutorSettings
from bot.execution.folder import RunFolder
from bot.execution.leasing import Leasing
from bot.execution.machine import this_machine
from bot.execution.stopwatch import Stopwatch
from bot.models.ask import Asker
from bot.models.recorded import RecordedModel
from bot.submission.handing_in import hand_in
from sandbox import Limits
from sandbox.leases import Leases
from sandbox.process import ProcessSandbox
from scrapers.snapshots.snapshot import Snapshot
from state.clock import ReplayClock
from state.progress import create_node, end_node
from state.steps import Steps
from state.store import Store
from tests.bot.submission.parts import RUN, assert_events_match_rows, begin, rows
from tests.tiny_snapshot import write_tiny

KNOWS_HOW_MUCH_IT_LEARNT_FROM = """
import pandas as pd
rows = len(pd.read_csv("data/train.csv"))
for sample, name in (("sample_submission", "submission"), ("sample_validation", "validation_predictions")):
    table = pd.read_csv(f"data/{sample}.csv")
    table["label"] = [0.25 + 0.5 * i / len(table) + rows * 1e-6 for i in range(len(table))]
    table.to_csv(f"{name}.csv", index=False)
"""


@pytest.fixture
async def run(tmp_path: Path) -> AsyncIterator[tuple[RunContext, Worker]]:
    """Return a run whose only node has run on the hold-out view."""
    snapshot = Snapshot.load(write_tiny(tmp_path / "tiny-table"), METRIC_DIRECTIONS)
    folder, locks, sandbox, stopwatch = RunFolder(tmp_path / "run"), tmp_path / "locks", ProcessSandbox(), Stopwatch()
    clock = ReplayClock(snapshot.card.deadline)
    for path in (folder.path, locks):
        path.mkdir()
    with Store.open(folder.database, clock) as store:
        begin(store)
        steps = Steps(store, RUN)
        async with aclosing(Worker()) as worker:
            leasing = Leasing(Leases(locks), 1, 0, lambda: 60.0, stopwatch, print)
            settings = ExecutorSettings(snapshot.data, 0, 1, Limits(60.0))
            executor = Executor(RUN, snapshot.card, folder, settings, store, steps, sandbox, worker, stopwatch, leasing)
            context = RunContext(
                run_id=RUN,
                card=snapshot.card,
                seed=0,
                baseline=baseline_script,
                store=store,
                steps=steps,
                decisions=Decisions(steps),
                clock=clock,
                asker=Asker(RecordedModel(tmp_path), store, RUN, clock, steps),
                model_name="recorded",
                executor=executor,
                budget=RunBudget(stopwatch, 600.0, None),
                machine=this_machine(Limits(60.0), sandbox.describe()),
                preview="",
                community_at=None,
                say=print,
            )
            with store.write() as tx:
                create_node(tx, RUN, action="draft", id=2, code=KNOWS_HOW_MUCH_IT_LEARNT_FROM)
            done = await executor.execute(2, KNOWS_HOW_MUCH_IT_LEARNT_FROM, "holdout", 60.0)
            assert done.score is not None, done.error
            with store.write() as tx:
                end_node(tx, RUN, 2, "valid", score=done.value)
            yield context, worker


async def test_a_stopped_run_hands_in_and_again_when_it_was_resumed(run: tuple[RunContext, Worker]) -> None:
    context, worker = run
    tree = Tree((NodeView(2, "draft", "valid", score=0.5),))
    scored = context.executor.submission_of(2, "holdout")
    file = scored.parents[2] / "submission.csv"

    for _ in range(2):
        stopped = await hand_in(context, tree, file, worker, hurried=True)
        assert (stopped.node, stopped.how) == (2, "holdout")
        assert file.read_bytes() == scored.read_bytes()
        assert [(row.id, row.status, row.handed_in) for row in rows(context.store)] == [("1", "confirmed", "holdout")]

    resumed = await hand_in(context, tree, file, worker, hurried=False)
    assert (resumed.how, resumed.note) == ("refit", "the refit on all data, which agrees with the scored run")
    assert context.executor.final_score(2) is not None
    assert file.read_bytes() == context.executor.submission_of(2, "full").read_bytes() != scored.read_bytes()
    assert [(row.id, row.status, row.handed_in) for row in rows(context.store)][1:] == [("2", "confirmed", "refit")]
    assert_events_match_rows(context.store)


async def test_a_run_without_a_score_hands_in_nothing(run: tuple[RunContext, Worker], tmp_path: Path) -> None:
    context, worker = run
    done = await hand_in(context, Tree(()), tmp_path / "submission.csv", worker, hurried=False)
    assert (done.node, done.how) == (None, None)
    assert rows(context.store) == []
    assert not (tmp_path / "submission.csv").exists()
