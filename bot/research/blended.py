"""Blending stored runs of one competition: what their nodes predict becomes the experiments of a run of its own."""

import asyncio
import hashlib
import random
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from sqlmodel import col, select

from bot.agents.builtin import BUILT_IN
from bot.engine.attempts import load_tree
from bot.engine.blending import Blending
from bot.engine.context import RunContext
from bot.engine.heartbeat import last_heartbeat, record_heartbeats
from bot.engine.services import SharedServices
from bot.engine.strategy import Action, Remaining
from bot.engine.tree import BASELINE, SEPARATE, Tree
from bot.evaluation.answers.experiments import Arrays, ScoredExperiment
from bot.evaluation.answers.view_names import INFO
from bot.evaluation.client.worker import Worker
from bot.execution.folder import RunFolder
from bot.execution.record import GUARDED, SCORED_EXPERIMENT, kept_execution
from bot.execution.running import running
from bot.execution.stopwatch import Stopwatch
from bot.models.settings import ModelSettings
from bot.replay.grading import grade_and_report
from bot.replay.prepare import PreparedRun, finished_result, prepare, read_config
from bot.replay.run import open_run_context, start_run
from bot.replay.settings import ReplaySettings
from bot.report.result import RunResult
from bot.report.run_files import EndedRun
from bot.submission.final_submission import make_final_submission
from sandbox import SandboxDescription
from sandbox.choose import choose
from sandbox.leases import Leases
from sandbox.workspace import remove_tree
from scrapers.snapshots.snapshot import Snapshot
from state.clock import ReplayClock
from state.errors import BotError, UsageError
from state.experiments import add_experiment
from state.ledgers import read_only
from state.progress import create_node, end_node, end_run
from state.redaction import Redactor
from state.store import Store, read_blob
from state.tables import ExperimentRow, Node

_SECONDS = 3600.0
_NOTE = "ensemble of files from finished runs; nothing was trained"


@dataclass(frozen=True)
class StoredRun:
    """A replay that has finished, whose predictions may be blended with those of others."""

    folder: RunFolder
    settings: ReplaySettings
    result: RunResult


@dataclass(frozen=True)
class _StoredNode:
    """A node of a stored run, with its predictions in the run's bank."""

    run: StoredRun
    id: int
    plan: str
    code: str | None
    model: str | None
    kind: str
    result: ScoredExperiment
    seconds: float | None


def stored_runs(folders: Sequence[RunFolder]) -> list[StoredRun]:
    """Return runs that can be blended with each other.

    Raises UsageError: they cannot; the message names the run and the reason.
    """
    runs = sorted(map(_stored_run, folders), key=lambda run: run.result.run_id)
    if not runs:
        raise UsageError("no runs to combine: name the folders of finished replays")
    first = runs[0]
    for run in runs[1:]:
        if run.result.competition_id != first.result.competition_id:
            raise UsageError(
                f"{run.folder.path} is of {run.result.competition_id}, {first.folder.path} of "
                f"{first.result.competition_id}: name runs of one competition"
            )
        if _withheld(run.folder) != _withheld(first.folder):
            raise UsageError(
                f"{run.folder.path} has other validation rows than {first.folder.path}: predictions of different rows have no "
                "common score. Replay both in labs or both with scripts, with the same --split-seed and version of the bot"
            )
    return runs


def blend_runs(
    runs: Sequence[StoredRun],
    snapshot: Snapshot,
    out: Path,
    leases: Leases,
    models: ModelSettings,
    redactor: Redactor,
    say: Callable[[str], None],
) -> tuple[PreparedRun, RunResult]:
    """Blend what stored runs predict, choose between the blend and the best node, grade, and write a run's folder into `out`.

    No model is asked, and nothing is run in a sandbox. If it fails, no folder is left.

    Raises:
        UsageError: nothing has predictions, or this version of the bot withholds other rows than the runs did.
        UnsupportedLayout: the competition's data cannot be split.
        InfrastructureFailure: the evaluator cannot work at all.
        OSError: the folder cannot be created.
    """
    first = runs[0].settings
    settings = first.model_copy(
        update={
            "agent": "blend",
            "model": "+".join(sorted({run.settings.model for run in runs})),
            "blended": tuple(run.result.run_id for run in runs),
            "time": _SECONDS,
            "cutoff": max(run.settings.cutoff for run in runs),
            "community": False,
            "pace": "all",
            "record": None,
            "roles": {},
            "chosen_coder": first.chosen_coder.model_copy(update={"labs": first.in_labs}),
            "steps": None,
            "blend": True,
        }
    )
    (run,) = prepare([(snapshot, settings)], out, datetime.now(UTC))
    try:
        return run, asyncio.run(_blend(run, runs, leases, models, redactor, say))
    except BotError:
        remove_tree(run.folder.path)
        raise


async def _blend(
    run: PreparedRun,
    runs: Sequence[StoredRun],
    leases: Leases,
    models: ModelSettings,
    redactor: Redactor,
    say: Callable[[str], None],
) -> RunResult:
    clock = ReplayClock(run.settings.cutoff)
    rule_based = replace(run, settings=run.settings.model_copy(update={"model": "builtin"}))
    async with aclosing(Worker()) as worker:
        machinery = SharedServices(choose("process", trusted=True), leases, models, worker, BUILT_IN)
        with running(run.folder), Store.open(run.folder.database, clock, redactor=redactor) as store:
            stopwatch = Stopwatch(last_heartbeat(store, run.id))
            await start_run(run, store, say)
            async with (
                record_heartbeats(store, run.id, stopwatch),
                open_run_context(rule_based, store, clock, machinery, stopwatch, say) as context,
            ):
                if _withheld(run.folder) != _withheld(runs[0].folder):
                    raise UsageError(
                        f"{runs[0].folder.path} comes from another version of the bot, with other validation rows: "
                        "replay it again"
                    )
                await _adopt(context, [node for r in runs for node in _nodes(r)])
                blending = None if context.blender is None else Blending(context, context.blender)
                submission = await make_final_submission(context, blending, run.folder.submission, worker, hurried=True)
                with store.write() as tx:
                    end_run(tx, run.id, "finished")
                # As if run where the walls of the stored runs were weakest.
                weakest = min((r.result for r in runs), key=lambda result: result.isolation != "none")
                walls = SandboxDescription(weakest.sandbox, (), isolates=weakest.isolation != "none")
                ended_run = EndedRun(run.folder, context, walls, stopwatch, "finished")
                return await grade_and_report(ended_run, replace(submission, note=_NOTE), run.snapshot.path, worker)


def _stored_run(folder: RunFolder) -> StoredRun:
    _, settings = read_config(folder)
    result = finished_result(folder)
    if result is None:
        raise UsageError(f"{folder.path} has not finished: `bot resume {folder.path}` first")
    if settings.blended:
        raise UsageError(f"{folder.path} is itself an ensemble: name the runs that it combines")
    if result.self_reported is not None:
        raise UsageError(f"{folder.path} has no validation scores: {result.self_reported}")
    return StoredRun(folder, settings, result)


def _withheld(folder: RunFolder) -> Mapping[str, str]:
    """Return the hash of each file on the rows that a run withheld; the seed that drew them does not count."""
    files = (folder.evaluator / GUARDED).glob("*")
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.name != INFO}


def _nodes(run: StoredRun) -> Iterator[_StoredNode]:
    run_id = run.result.run_id
    with read_only(run.folder.database) as session:
        valid = select(Node).where(Node.run_id == run_id, Node.status == "valid", col(Node.action).not_in(SEPARATE))
        for node in session.exec(valid.order_by(col(Node.id))).all():
            record, row = kept_execution(session, run_id, node.id), session.get(ExperimentRow, (run_id, node.id))
            if record is None or record.score is None or record.score.spoiled or record.score.submission is None:
                continue
            if row is None:  # a script has no predictions out of fold
                score = record.score
                arrays = Arrays(validation=score.predictions, test=score.submission)
                result = ScoredExperiment(arrays, score.value, score.std_error, score.value, score.final)
            else:
                result = SCORED_EXPERIMENT.validate_python(row.result)
            code = None if node.code_sha is None else read_blob(session, node.code_sha).decode()
            plan = f"Node {node.id} of {run.settings.agent} with seed {run.settings.seed}. {node.plan}"
            kind = "model" if row is None else row.kind
            yield _StoredNode(run, node.id, plan, code, node.model, kind, result, node.seconds)


async def _adopt(context: RunContext, nodes: Sequence[_StoredNode]) -> None:
    if context.experiments is None or not nodes:
        raise UsageError("no node of these runs has predictions for the validation rows")
    # Recorded as decisions are, so that the blend's number comes after theirs.
    actions = [Action("draft") for _ in nodes[1:]]
    await context.decisions.ask(_Actions(actions), load_tree(context), Remaining(None, None, None, None), len(actions))
    context.executor.folder.bank.mkdir(exist_ok=True)
    for number, node in enumerate(nodes, BASELINE):
        for name in filter(None, asdict(node.result.arrays).values()):
            shutil.copyfile(node.run.folder.bank / name, context.executor.folder.bank / name)
        score, result = node.result.score, SCORED_EXPERIMENT.dump_python(node.result, mode="json")
        with context.store.write() as tx:
            create_node(
                tx,
                context.run_id,
                id=number,
                action="draft",
                parents=(),
                plan=node.plan,
                code=node.code,
                model=node.model,
            )
            add_experiment(tx, context.run_id, number, name=f"node-{number}", kind=node.kind, result=result)
            end_node(tx, context.run_id, number, "valid", score=score, seconds=node.seconds)
    await context.experiments.write_submissions(context.experiments.worker)
    context.say(f"{len(nodes)} scored nodes of {len({node.run.result.run_id for node in nodes})} runs")


@dataclass(frozen=True)
class _Actions:
    actions: Sequence[Action]

    def next_actions(self, tree: Tree, budget: Remaining, free_slots: int, rng: random.Random) -> Sequence[Action]:
        """Return all of them."""
        return self.actions
