"""Tests of executions as the engine sees them: retried where the sandbox failed, and ended early with a word for the coder."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import pytest_asyncio

from bot.budgets.kinds import Kind
from bot.budgets.levels import Level
from bot.budgets.settings import Caps
from bot.engine.attempts import read_tree
from bot.engine.tree import TreeCache
from bot.evaluation.answers import Gain, LabelledView, NodeScore
from bot.evaluation.answers.findings import EXECUTION_GUARDS
from bot.evaluation.client.worker import Worker
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.execution.executor import Executor, ExecutorSettings
from bot.execution.folder import RunFolder
from bot.execution.guarding import FINDINGS, GuardRunner, node_findings, view_findings
from bot.execution.leasing import RunLeases
from bot.execution.record import ExecutionRecord, failure_sentence, kept_execution
from bot.execution.stopwatch import Stopwatch
from sandbox import ExecutionOutcome, ExecutionRequest, ExitReason, Limits, Watch
from sandbox.leases import Leases
from sandbox.process import ProcessSandbox
from sandbox.rules import RuleSettings
from scrapers.snapshots.snapshot import Snapshot
from state.clock import ReplayClock
from state.errors import BudgetExceeded, InfrastructureFailure
from state.progress import create_node, end_node
from state.redaction import Redactor
from state.spending import Spending, read_spending
from state.steps import Steps
from state.store import Store
from tests.bot.evaluation.parts import card
from tests.state.derive import from_events, from_rows
from tests.state.rows import create_run
from tests.tiny_snapshot import write_tiny

pytestmark = pytest.mark.asyncio(loop_scope="module")

RUN = "tiny-comind-1"
SMALL = card("log_loss", ["label"])
PREDICTS = """
import pandas as pd
for sample, name in (("sample_submission", "submission"), ("sample_validation", "validation_predictions")):
    pd.read_csv(f"data/{sample}.csv").assign(label=0.5).to_csv(f"{name}.csv", index=False)
"""
FILLS = "import time\nopen('big.bin', 'wb').write(bytes(60_000_000))\ntime.sleep(25)\n"


class FailingSandbox(ProcessSandbox):
    """Plain processes, but the machinery fails as often as it is told to."""

    failures = 0

    async def run(self, request: ExecutionRequest, watch: Watch | None = None) -> ExecutionOutcome:
        if self.failures:
            self.failures -= 1
            return ExecutionOutcome(ExitReason.INFRASTRUCTURE, None, 0.0, None, None, "", {}, "The engine went away.")
        return await super().run(request, watch)


@dataclass
class Trial:
    """A run whose nodes are executed one after another."""

    executor: Executor
    sandbox: FailingSandbox
    store: Store
    level: Level
    nodes: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def new_node(self) -> int:
        node = next(self.nodes)
        with self.store.write() as tx:
            create_node(tx, RUN, action="draft", id=node)
        return node

    def folder_of(self, node: int) -> Path:
        return self.executor.submission_of(node, "holdout").parent

    async def execute(self, node: int, script: str, seconds: float = 30.0) -> ExecutionRecord:
        return await self.executor.execute(node, script, "holdout", seconds)

    async def one_goes_on(self) -> None:
        """Return when an execution has started that has not ended."""
        async with asyncio.timeout(60):
            while self._count("execution.started") == self._count("execution.ended"):
                await asyncio.sleep(0.02)

    def _count(self, kind: str) -> int:
        return sum(event["type"] == kind for event in self.store.export_events(RUN))

    def ended(self, node: int) -> list[dict[str, object]]:
        """Return the events of a node's executions that have ended."""
        events = self.store.export_events(RUN)
        return [e for e in events if e["type"] == "execution.ended" and e["node"] == node]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def trial(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Trial]:
    place = tmp_path_factory.mktemp("executor")
    snapshot = Snapshot.load(write_tiny(place / "tiny-table"), METRIC_DIRECTIONS)
    folder, locks, cutoff = RunFolder(place / "run"), place / "locks", snapshot.card.deadline
    for path in (folder.path, locks):
        path.mkdir()
    sandbox, stopwatch = FailingSandbox(), Stopwatch()
    leasing = RunLeases(Leases(locks), 1, 0, lambda: 60.0, stopwatch, print)
    settings = ExecutorSettings(snapshot.data, 0, 1, Limits(60.0), RuleSettings(free_disk_bytes=10**18))
    with Store.open(folder.database, ReplayClock(cutoff)) as store:
        with store.write() as tx:
            create_run(tx, RUN, competition="tiny", agent="comind", model="x", seed=1, cutoff=cutoff)
        async with aclosing(Worker()) as worker:
            parts = (store, Steps(store, RUN), sandbox, worker, stopwatch, leasing)
            level = Level("run", Caps(executions=100))
            executor = Executor(RUN, snapshot.card, folder, settings, *parts, spending=level)
            yield Trial(executor, sandbox, store, level)


@pytest.mark.integration
async def test_a_failure_of_the_sandbox_is_tried_again_under_a_fresh_name(trial: Trial) -> None:
    node, trial.sandbox.failures = trial.new_node(), 1
    done = await trial.execute(node, PREDICTS)
    assert done.reason is ExitReason.FINISHED
    assert done.score is not None
    reasons = {str(event["execution"]): event["reason"] for event in trial.ended(node)}
    assert reasons == {f"n{node}-holdout-0": "infrastructure", f"n{node}-holdout-0-try2": "finished"}
    submission = trial.executor.submission_of(node, "holdout")
    assert submission.is_file() and submission.parent.name == done.id


async def test_a_sandbox_that_keeps_failing_is_reported_and_nothing_is_said_of_the_script(trial: Trial) -> None:
    node, trial.sandbox.failures = trial.new_node(), 2
    with pytest.raises(InfrastructureFailure, match=r"the sandbox, not the script, failed 2 times: The engine"):
        await trial.execute(node, PREDICTS)
    assert [event["reason"] for event in trial.ended(node)] == ["infrastructure"] * 2


@pytest.mark.integration
async def test_what_a_rule_says_reaches_the_coder_and_the_events(trial: Trial) -> None:
    node = trial.new_node()
    done = await trial.execute(node, FILLS)
    assert done.reason is ExitReason.KILLED_BY_RULE
    assert done.seconds < 25
    assert done.score is None
    assert done.error is not None
    assert done.error == f"on the hold-out view, with 168 of 240 training rows (limit 30 s): {done.fault}"
    assert done.fault is not None
    assert done.fault.startswith("the script was killed early: The free disk rule stopped it: it wrote ")
    (event,) = trial.ended(node)
    assert event["reason"] == "killed_by_rule"
    assert str(event["detail"]) in done.error


async def test_oddities_are_told_to_the_coder_and_kept(trial: Trial) -> None:
    node = trial.new_node()
    done = await trial.execute(node, "import os\nos.symlink('/etc/passwd', 'submission.csv')\nprint('done')\n")
    note = "submission.csv was not kept: it is a symbolic link"
    assert done.output == f"done\n\n[sandbox] {note}"
    assert not trial.executor.submission_of(node, "holdout").exists()
    (event,) = trial.ended(node)
    assert event["notes"] == [note]


async def test_a_secret_that_a_script_prints_is_in_nothing_that_is_kept(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial.store, "redactor", Redactor({"hunter2-is-a-s3cret": "KEY"}))
    node = trial.new_node()
    done = await trial.execute(node, "print('hunter2' + '-is-a-s3cret')\n")
    assert done.output == "[secret]\n"
    assert (trial.folder_of(node) / "log.txt").read_text() == "[secret]\n"
    assert trial.store.blob(str(trial.ended(node)[0]["log_sha"])) == b"[secret]\n"


@pytest.mark.parametrize("reason", sorted(set(ExitReason) - {ExitReason.FINISHED, ExitReason.INFRASTRUCTURE}))
async def test_every_end_without_a_score_has_a_sentence_for_the_coder(reason: ExitReason) -> None:
    sentence = failure_sentence(ExecutionOutcome(reason, 1, 1.0, None, None, "", {}, "It {held} 3 GiB."), Limits(60.0))
    assert sentence
    assert "{" not in sentence.replace("It {held} 3 GiB.", "")
    if reason in {ExitReason.GPU_OUT_OF_MEMORY, ExitReason.KILLED_BY_RULE}:
        assert "It {held} 3 GiB." in sentence


@pytest.mark.integration
async def test_an_execution_is_charged_with_its_seconds_and_what_it_left_also_where_it_was_stopped(
    trial: Trial,
) -> None:
    # The trial is one for all tests here, and this one may be its first.
    before, counted = {"execution": Spending(), "disk": Spending()} | read_spending(trial.store, RUN), trial.level.usage
    node = trial.new_node()
    done = await trial.execute(node, PREDICTS)
    left = sum(file.stat().st_size for file in trial.folder_of(node).iterdir())
    stopped = asyncio.create_task(trial.execute(trial.new_node(), "import time\ntime.sleep(60)\n"))
    await trial.one_goes_on()
    stopped.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopped
    after = read_spending(trial.store, RUN)
    assert after["execution"].amount - before["execution"].amount == 2
    assert after["execution"].seconds - before["execution"].seconds >= done.seconds
    assert after["disk"].amount - before["disk"].amount >= left > 0
    assert trial.level.usage[Kind.EXECUTIONS] == counted[Kind.EXECUTIONS] + 2
    assert trial.level.usage[Kind.DISK_BYTES] == after["disk"].amount
    assert trial.level.amount_reserved(Kind.EXECUTIONS) == 0
    assert from_events(trial.store.export_events(RUN)).ledger == from_rows(trial.store, RUN).ledger


@pytest.mark.integration
async def test_guards_look_at_a_scored_execution_and_at_the_view_and_what_they_doubt_is_kept(trial: Trial) -> None:
    node = trial.new_node()
    done = await trial.execute(node, PREDICTS)
    assert done.score is not None
    doubted = {one.guard: one for one in done.score.guards if not one.passed}
    assert doubted["constant"].spoils, "the script says .5 of every row"
    assert node_findings(trial.store, RUN, node) == done.score.guards
    assert {one.verdict for one in view_findings(trial.store, RUN)} == {"passed"}
    (event,) = (e for e in trial.store.export_events(RUN) if e["type"] == FINDINGS and e["node"] == node)
    assert "constant (suspicious): all" in event["sentence"]
    with trial.store.write() as tx:
        end_node(tx, RUN, node, "valid", score=done.value)
    tree = read_tree(trial.store, RUN, True, TreeCache())
    assert tree[node].spoiled


@pytest.mark.integration
async def test_a_score_is_kept_with_its_noise_which_takes_nothing_from_it_where_it_cannot_be_had(trial: Trial) -> None:
    first, node = trial.new_node(), trial.new_node()
    await trial.execute(first, PREDICTS)
    done = await trial.executor.execute(node, PREDICTS, "holdout", 30.0, reference=first)
    assert done.score is not None
    assert done.score.std_error == pytest.approx(0.0, abs=1e-9), "every row loses as much"
    assert done.score.gain == Gain(pytest.approx(0.0, abs=1e-9), pytest.approx(0.0, abs=1e-9))
    with trial.store.read() as session:
        assert kept_execution(session, RUN, node) == done
    trial.executor.predictions_of(node).unlink()
    assert await trial.executor.score(node, first) is None


@pytest.mark.integration
async def test_what_a_node_with_a_score_predicted_lies_in_the_bank_and_nothing_else_does(trial: Trial) -> None:
    node = trial.new_node()
    done = await trial.execute(node, PREDICTS)
    tried = await trial.executor.execute(node, PREDICTS, "sample", 30.0)
    assert done.score is not None and tried.score is not None
    bank = trial.executor.folder.bank
    assert {str(done.score.predictions), str(done.score.submission)} <= {path.name for path in bank.iterdir()}
    assert (tried.score.predictions, tried.score.submission) == (None, None)
    assert trial.executor.predictions_of(node) == bank / str(done.score.predictions)


async def test_guards_look_at_the_data_before_the_first_execution_and_only_once(trial: Trial) -> None:
    found = await trial.executor.check_data()
    assert found == view_findings(trial.store, RUN) == await trial.executor.check_data()
    assert {one.verdict for one in found} == {"passed"}


@pytest.mark.integration
async def test_guards_that_cannot_run_are_told_as_not_run(trial: Trial) -> None:
    node = trial.new_node()
    done = await trial.execute(node, PREDICTS)
    out = trial.folder_of(node)
    worker, folder = Worker(memory_bytes=1 << 20), trial.executor.folder
    starved = GuardRunner(RUN, 0, trial.store, Steps(trial.store, RUN), worker, folder)
    scored = NodeScore(1.0)
    found = await starved.check_execution(node, done.id, LabelledView(out, out, SMALL), scored, "")
    assert [one.guard for one in found] == list(EXECUTION_GUARDS)
    assert {one.verdict for one in found} == {"not run"}
    assert {one.verdict for one in node_findings(trial.store, RUN, 10_000)} == {"not run"}, "nobody looked at it"


@pytest.mark.integration
@pytest.mark.parametrize("whole", [True, False])
async def test_a_script_that_its_limit_cuts_off_has_the_score_of_its_files_if_they_are_complete(
    trial: Trial, whole: bool
) -> None:
    node = trial.new_node()
    spoilt = "" if whole else "\nopen('submission.csv', 'w').write('id,')"
    done = await trial.execute(node, f"{PREDICTS}{spoilt}\nimport time\ntime.sleep(60)", seconds=4.0)
    assert done.reason is ExitReason.TIMED_OUT
    assert (done.value is not None, done.fine) == (whole, whole)
    if whole:
        assert done.error is None
        assert "killed at its time limit of 4 s; its files were complete, so they are used" in done.output
    else:
        assert done.error is not None
        assert "the script was killed at its time limit of 4 s" in done.error


async def test_an_execution_that_does_not_fit_is_never_started(trial: Trial) -> None:
    node, room = trial.new_node(), trial.level.remaining[Kind.EXECUTIONS]
    trial.level.spend(executions=room or 0)
    with pytest.raises(BudgetExceeded, match="cap on executions has been reached: 100 executions of 100 executions"):
        await trial.execute(node, PREDICTS)
    assert trial.ended(node) == []
