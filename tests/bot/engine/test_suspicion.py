"""Different scripts that fail with the same sentence: one is run in full, and a search does not go on with it for ever."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from bot.engine.attempts import load_tree
from bot.engine.context import RunContext
from bot.engine.scripts import ScriptTimeLimits, run_script
from bot.engine.search import SolutionSearch
from bot.engine.strategy import Action, Script, Strategy
from bot.engine.suspicion import MOST_ALIKE
from bot.engine.tree import NodeView, Tree
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.execution.record import EXECUTED, GUARDED, ExecutionRecord
from bot.models.recordings import RecordedModel
from sandbox import ExitReason
from scrapers.snapshots.snapshot import Snapshot
from state.clock import ReplayClock
from state.progress import create_node, end_node
from state.steps import Key
from tests.bot.engine.parts import RUN, opened, opened_on
from tests.bot.engine.test_search_pacing import Drafts, Work
from tests.bot.execution.ended import ended
from tests.tiny_snapshot import write_tiny

NEEDS = """
rows = open("data/train.csv").read().count("\\n") - 1
if rows < {least}:
    raise ValueError(f"{{rows}} rows are too few")
for sample, name in (("sample_submission", "submission"), ("sample_validation", "validation_predictions")):
    open(f"{{name}}.csv", "w").write(open(f"data/{{sample}}.csv").read())
print({number})
"""


class Trial:
    """A run whose nodes fail where they see few rows; keeps what it says."""

    def __init__(self, context: RunContext, said: list[str]) -> None:
        self.context, self.said, self._nodes = context, said, 1

    async def run(self, least: int) -> NodeView:
        self._nodes += 1
        node = self._nodes
        with self.context.store.write() as tx:
            create_node(tx, RUN, action="draft", id=node)
        script = Script("A plan.", NEEDS.format(least=least, number=node), "draft")
        await run_script(self.context, node, script, None, ScriptTimeLimits(100.0, 33.0))
        return load_tree(self.context)[node]

    def error(self, node: int) -> str:
        events = self.context.store.export_events(RUN)
        return str(next(e["error"] for e in events if e["type"] == "node.ended" and e["node"] == node))


@pytest_asyncio.fixture
async def trial(tmp_path: Path) -> AsyncIterator[Trial]:
    snapshot = Snapshot.load(write_tiny(tmp_path / "tiny", rows=900), METRIC_DIRECTIONS)
    clock, model = ReplayClock(snapshot.card.deadline), RecordedModel(tmp_path)
    said: list[str] = []
    async with opened_on(snapshot, tmp_path, 20, clock, model, community=False, say=said.append) as context:
        yield Trial(context, said)


@pytest.mark.integration
async def test_the_third_script_to_fail_with_a_sentence_is_run_on_the_holdout_in_full_and_so_are_later_ones(
    trial: Trial,
) -> None:
    assert [(await trial.run(500)).state for _ in range(2)] == ["buggy", "buggy"]
    assert trial.error(2) == (
        "in the debug run on a sample of 400 of 900 training rows (limit 33 s): "
        "the script ended with exit status 1: ValueError: 400 rows are too few"
    )
    assert not trial.said
    assert [(await trial.run(500)).state for _ in range(2)] == ["valid", "valid"]
    assert trial.said[0] == (
        "node 4: 3 different scripts failed in the debug run with the same message. The engine may be at fault, "
        "so this script runs on the full hold-out view: "
        "the script ended with exit status 1: ValueError: 400 rows are too few"
    )


@pytest.mark.integration
async def test_a_sentence_that_holds_in_full_is_the_scripts_fault_from_then_on(trial: Trial) -> None:
    for _ in range(4):
        assert (await trial.run(5000)).state == "buggy"
    assert trial.error(4).startswith(
        "on the hold-out view, with 630 of 900 training rows (limit 60 s): the script ended"
    )
    assert trial.error(5).startswith("in the debug run")
    assert len(trial.said) == 1


def drafts(work: Work) -> Strategy:
    async def finish(tree: Tree) -> None:
        pass

    return Strategy("drafts", Drafts(), {"draft": work}, finish)


class Fails(Work):
    """Ends each node with one error, whose numbers differ."""

    async def play(self, action: Action, node: int, tree: Tree) -> None:
        self.played.append(node)
        with self.context.store.write() as tx:
            end_node(tx, RUN, node, "buggy", error=f"row {node} is missing")


@pytest.mark.integration
async def test_a_search_ends_when_script_after_script_fails_with_one_sentence_and_goes_on_when_started_again(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, steps=51) as context:
        work = Fails(context)
        search = SolutionSearch(context, drafts(work))
        await search.run()
        assert len(work.played) == MOST_ALIKE
        assert search.stopped_by == f"{MOST_ALIKE} scripts in a row failed with the same message: row 11 is missing"
        assert search.status == "failed"
        await SolutionSearch(context, drafts(work)).run()
        assert len(work.played) == 2 * MOST_ALIKE


class RunsOutOfTime(Fails):
    """Its scripts are all killed at their limit."""

    async def play(self, action: Action, node: int, tree: Tree) -> None:
        async def run() -> ExecutionRecord:
            return ended(ExitReason.TIMED_OUT, fault="the script was killed at its time limit of 60 s")

        await self.context.steps.once(EXECUTED, run, Key(node, GUARDED))
        await super().play(action, node, tree)


@pytest.mark.integration
async def test_scripts_that_are_too_slow_do_not_end_a_search(tmp_path: Path) -> None:
    async with opened(tmp_path, steps=MOST_ALIKE + 5) as context:
        work = RunsOutOfTime(context)
        search = SolutionSearch(context, drafts(work))
        await search.run()
        assert len(work.played) > MOST_ALIKE
        assert search.status != "failed"
