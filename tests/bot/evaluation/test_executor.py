"""Tests of executions as the engine sees them: retried where the sandbox failed, and ended early with a word for the coder."""

import re
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path

import pytest

from bot.evaluation.directions import METRIC_DIRECTIONS
from bot.evaluation.executor import Executor, ExecutorSettings, why
from bot.evaluation.worker import Worker
from bot.runs.folder import RunFolder
from bot.runs.leasing import Leasing
from bot.runs.stopwatch import Stopwatch
from sandbox import ExecutionRequest, ExitReason, Limits, Outcome, SandboxDescription, Watch
from sandbox.leases import Leases
from sandbox.process import ProcessSandbox
from scrapers.snapshot import Snapshot
from state.clock import ReplayClock
from state.errors import InfrastructureFailure
from state.progress import create_node, create_run
from state.steps import Steps
from state.store import Store
from tests.tiny_snapshot import write_tiny

RUN = "tiny-comind-1"
PREDICTS = """
import pandas as pd
for sample, name in (("sample_submission", "submission"), ("sample_validation", "validation_predictions")):
    pd.read_csv(f"data/{sample}.csv").assign(label=0.5).to_csv(f"{name}.csv", index=False)
"""
LOSES = (
    "import time\nfor epoch in range(600):\n    print('epoch', epoch, 'loss: nan', flush=True)\n    time.sleep(0.05)\n"
)


class FailingSandbox(ProcessSandbox):
    """Plain processes, but the machinery fails the first so many times."""

    def __init__(self, failures: int) -> None:
        super().__init__()
        self.requests: list[ExecutionRequest] = []
        self._failures = failures

    async def run(self, request: ExecutionRequest, watch: Watch | None = None) -> Outcome:
        self.requests.append(request)
        if len(self.requests) <= self._failures:
            return Outcome(ExitReason.INFRASTRUCTURE, None, 0.0, None, None, "", {}, "The engine went away.")
        return await super().run(request, watch)

    def describe(self) -> SandboxDescription:
        return super().describe()


Make = Callable[[FailingSandbox], Executor]


@pytest.fixture
async def make(tmp_path: Path) -> AsyncIterator[tuple[Make, Store]]:
    """Make executors of a run that has one node."""
    snapshot = Snapshot.load(write_tiny(tmp_path / "tiny-table"), METRIC_DIRECTIONS)
    folder, clock = RunFolder(tmp_path / "run"), ReplayClock(snapshot.card.deadline)
    locks = tmp_path / "locks"
    for path in (folder.path, locks):
        path.mkdir()
    with Store.open(folder.database, clock) as store:
        with store.write() as tx:
            create_run(tx, RUN, competition="tiny", agent="comind", model="x", seed=1, cutoff=snapshot.card.deadline)
            create_node(tx, RUN, action="draft", id=1)
        settings = ExecutorSettings(snapshot.data, 0, 1, Limits(60.0))
        async with aclosing(Worker()) as worker:

            def executor(sandbox: FailingSandbox) -> Executor:
                steps, stopwatch = Steps(store, RUN), Stopwatch()
                leasing = Leasing(Leases(locks), 1, 0, lambda: 60.0, stopwatch, print)
                return Executor(RUN, snapshot.card, folder, settings, store, steps, sandbox, worker, stopwatch, leasing)

            yield executor, store


def ended(store: Store) -> list[tuple[str, str]]:
    """Return id and reason of each execution that has ended, in order."""
    return [(e["execution"], e["reason"]) for e in store.export_events(RUN) if e["type"] == "execution.ended"]


async def test_a_failure_of_the_sandbox_is_tried_again_under_a_fresh_name(make: tuple[Make, Store]) -> None:
    executor, store = make[0](FailingSandbox(1)), make[1]
    done = await executor.execute(1, PREDICTS, "holdout", 30.0)
    assert done.reason is ExitReason.FINISHED
    assert done.score is not None
    assert ended(store) == [("n1-holdout-0", "infrastructure"), ("n1-holdout-0-try2", "finished")]
    assert executor.submission_of(1, "holdout") == done.submission
    assert done.submission is not None


async def test_oddities_are_told_to_the_coder_and_kept(make: tuple[Make, Store]) -> None:
    script = "import os\nos.symlink('/etc/passwd', 'submission.csv')\nprint('done')\n"
    done = await make[0](FailingSandbox(0)).execute(1, script, "holdout", 30.0)
    note = "submission.csv was not kept: it is a link"
    assert done.output == f"done\n\n[sandbox] {note}"
    assert done.submission is None
    (event,) = [e for e in make[1].export_events(RUN) if e["type"] == "execution.ended"]
    assert event["notes"] == [note]


async def test_a_sandbox_that_keeps_failing_is_reported_and_nothing_is_said_of_the_script(
    make: tuple[Make, Store],
) -> None:
    sandbox = FailingSandbox(99)
    with pytest.raises(InfrastructureFailure, match=re.escape("says nothing of the script: The engine went away.")):
        await make[0](sandbox).execute(1, PREDICTS, "holdout", 30.0)
    assert len(sandbox.requests) == 2
    assert [reason for _, reason in ended(make[1])] == ["infrastructure"] * 2


async def test_what_a_rule_says_reaches_the_coder_and_the_events(make: tuple[Make, Store]) -> None:
    done = await make[0](FailingSandbox(0)).execute(1, LOSES, "holdout", 10.0)
    assert done.reason is ExitReason.KILLED_BY_RULE
    assert done.seconds < 8
    assert done.score is None
    assert done.error is not None
    assert done.error.startswith("the script was killed early: The rule on loss ended it: the loss is not a number")
    assert "loss: nan" in done.error
    (event,) = [e for e in make[1].export_events(RUN) if e["type"] == "execution.ended"]
    assert event["reason"] == "killed_by_rule"
    assert event["detail"] in done.error


@pytest.mark.parametrize("reason", sorted(set(ExitReason) - {ExitReason.FINISHED, ExitReason.INFRASTRUCTURE}))
def test_every_end_without_a_score_has_a_sentence_for_the_coder(reason: ExitReason) -> None:
    sentence = why(Outcome(reason, 1, 1.0, None, None, "", {}, "It {held} 3 GiB."), Limits(60.0))
    assert sentence
    assert "{" not in sentence.replace("It {held} 3 GiB.", "")
    if reason in {ExitReason.GPU_OUT_OF_MEMORY, ExitReason.KILLED_BY_RULE, ExitReason.KILLED_BY_MONITOR}:
        assert "It {held} 3 GiB." in sentence
