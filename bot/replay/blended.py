"""Blending stored runs of one competition afterwards: their scored scripts become the nodes of a run of its own."""

import hashlib
import random
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from sqlmodel import col, select

from bot.agents.builtin import BUILT_IN
from bot.engine.attempts import load_tree
from bot.engine.blending import Blending
from bot.engine.context import RunContext
from bot.engine.heartbeat import beating, last_beat
from bot.engine.services import Machinery
from bot.engine.strategy import Action, Remaining
from bot.engine.tree import APART, BASELINE, Tree
from bot.evaluation.answers.view_names import INFO
from bot.evaluation.client.worker import Worker
from bot.execution.folder import RunFolder
from bot.execution.record import GUARDED, Execution, kept_execution, readable_files, step_of
from bot.execution.running import running
from bot.execution.stopwatch import Stopwatch
from bot.models.settings import ModelSettings
from bot.replay.grading import grade_and_report
from bot.replay.prepare import PreparedRun, finished_result, prepare, read_config
from bot.replay.run import begin, opened
from bot.replay.settings import ReplaySettings
from bot.report.result import RunResult
from bot.report.run_files import EndedRun
from bot.submission.handing_in import hand_in
from sandbox import Sandbox, SandboxDescription
from sandbox.leases import Leases
from scrapers.snapshots.snapshot import Snapshot
from state.clock import ReplayClock
from state.errors import UsageError
from state.ledgers import read_only
from state.progress import add_evaluation, create_node, end_execution, end_node, end_run, start_execution
from state.redaction import Redactor
from state.store import Store, read_blob
from state.tables import Node

AGENT = "blend"
"""Stands for the agent in the result of a blend of stored runs."""
_SECONDS = 3600.0
_NOTE = "made of the files of the scored runs, as nothing is trained"


@dataclass(frozen=True)
class StoredRun:
    """A replay that has finished, whose scripts may be blended with those of others."""

    id: str
    folder: RunFolder
    settings: ReplaySettings
    result: RunResult


@dataclass(frozen=True)
class _Script:
    """A scored script of a stored run."""

    run: StoredRun
    node: Node
    code: str
    done: Execution


def stored_runs(folders: Sequence[RunFolder]) -> Sequence[StoredRun]:
    """Return runs that can be blended with each other.

    Raises:
        UsageError: they cannot; the message names the run and the reason.
    """
    found = sorted((_stored(folder) for folder in folders), key=lambda one: one.id)
    if not found:
        raise UsageError("there are no runs to blend: name the folders of finished replays")
    first, *others = found
    for one in others:
        if one.result.competition_id != first.result.competition_id:
            raise UsageError(
                f"{one.id} is of {one.result.competition_id}, {first.id} of {first.result.competition_id}: "
                "name runs of one competition"
            )
        if _withheld(one.folder) != _withheld(first.folder):
            raise UsageError(
                f"{one.id} withheld other rows than {first.id}: predictions of different rows have no common score. "
                "Replay with the same --split-seed and the same version of the bot to blend their scripts"
            )
    return found


def blended_run(stored: Sequence[StoredRun], snapshot: Snapshot, out: Path, now: datetime) -> PreparedRun:
    """Create the folder of the run that blends others; its clock is the latest of theirs.

    Raises:
        OSError: it cannot be created.
    """
    first = stored[0].settings
    settings = first.model_copy(
        update={
            "agent": AGENT,
            "model": "+".join(sorted({one.settings.model for one in stored})),
            "blended": tuple(one.id for one in stored),
            "seconds": _SECONDS,
            "cutoff": max(one.settings.cutoff for one in stored),
            "split_seed": first.seed if first.split_seed is None else first.split_seed,
            "community": False,
            "pace": "all",
            "record": None,
            "roles": {},
            "steps": None,
            "blend": True,
        }
    )
    (run,) = prepare([(snapshot, settings)], out, now)
    return run


async def blend_runs(
    run: PreparedRun,
    stored: Sequence[StoredRun],
    sandbox: Sandbox,
    leases: Leases,
    models: ModelSettings,
    redactor: Redactor,
    say: Callable[[str], None],
) -> RunResult:
    """Blend the scored scripts of stored runs, choose between the blend and the best of them, grade, and write the run's folder.

    No model is asked, and nothing is run in the sandbox: what is handed in is made of the files of the scored runs.

    Returns:
        The content of result.json.

    Raises:
        UsageError: no script has predictions, or this version of the bot withholds other rows than the runs did.
        UnsupportedLayout: the competition's data cannot be split.
        InfrastructureFailure: the evaluator cannot work at all.
    """
    clock = ReplayClock(run.settings.cutoff)
    asked = replace(run, settings=run.settings.model_copy(update={"model": "builtin"}))
    with running(run.folder), Store.open(run.folder.database, clock, redactor=redactor) as store:
        stopwatch = Stopwatch(last_beat(store, run.id))
        await begin(run, store, say)
        async with (
            aclosing(Worker()) as worker,
            beating(store, run.id, stopwatch),
            opened(
                asked, store, clock, Machinery(sandbox, leases, models, worker, BUILT_IN), stopwatch, say
            ) as context,
        ):
            if _withheld(run.folder) != _withheld(stored[0].folder):
                raise UsageError(
                    f"{stored[0].id} was made by another version of the bot, which withheld other rows: replay it again"
                )
            await _adopt(context, stored)
            blending = None if context.blender is None else Blending(context, context.blender)
            handed = await hand_in(context, blending, run.folder.submission, worker, hurried=True)
            with store.write() as tx:
                end_run(tx, run.id, "finished")
            ended = EndedRun(run.folder, context, _walls(stored), stopwatch, "finished")
            return await grade_and_report(ended, replace(handed, note=_NOTE), run.snapshot.path, worker)


def _stored(folder: RunFolder) -> StoredRun:
    id, settings = read_config(folder)
    result = finished_result(folder)
    if result is None:
        raise UsageError(f"{folder.path} has not finished: `bot resume {folder.path}` first")
    if settings.blended:
        raise UsageError(f"{folder.path} is a blend itself: name the runs that it was made of")
    if result.self_reported is not None:
        raise UsageError(f"{folder.path} has no scores of withheld rows: {result.self_reported}")
    return StoredRun(id, folder, settings, result)


def _withheld(folder: RunFolder) -> Mapping[str, str]:
    """Return the hash of each file on the rows that a run withheld; the seed that drew them does not count."""
    files = (folder.evaluator / GUARDED).glob("*")
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.name != INFO}


def _walls(stored: Sequence[StoredRun]) -> SandboxDescription:
    """Return where the scripts ran; if in several back ends, in the one that isolates least."""
    least = min((one.result for one in stored), key=lambda result: result.isolation != "none")
    return SandboxDescription(least.sandbox, (), isolates=least.isolation != "none")


async def _adopt(context: RunContext, stored: Sequence[StoredRun]) -> None:
    """Make a node of each scored script, with the score and the predictions that it has."""
    scripts = [script for one in stored for script in _scripts(one)]
    if not scripts:
        raise UsageError("no script of these runs has predictions for withheld rows")
    number_of = {(one.run.id, one.node.id): number for number, one in enumerate(scripts, BASELINE)}
    actions = [Action("draft", _parents(one, number_of)) for one in scripts]
    # Recorded as decisions are, so that the blend's number comes after theirs.
    await context.decisions.ask(
        _Given(actions[1:]), load_tree(context), Remaining(None, None, None, None), len(actions)
    )
    for number, (script, action) in enumerate(zip(scripts, actions, strict=True), BASELINE):
        await _adopt_one(context, number, script, action)
    for one in stored:
        count = sum(script.run is one for script in scripts)
        context.say(f"{count} scored scripts of {one.id}")


@dataclass(frozen=True)
class _Given:
    """A policy whose actions are known."""

    actions: Sequence[Action]

    def next_actions(self, tree: Tree, budget: Remaining, free_slots: int, rng: random.Random) -> Sequence[Action]:
        """Return all of them."""
        return self.actions


def _scripts(one: StoredRun) -> Sequence[_Script]:
    """Return a run's scripts with a score and predictions in its bank, in order."""
    found = []
    with read_only(one.folder.database) as session:
        valid = select(Node).where(Node.run_id == one.id, Node.status == "valid", col(Node.action).not_in(APART))
        for node in session.exec(valid.order_by(col(Node.id))).all():
            done = kept_execution(session, one.id, node.id)
            if done is not None and done.score is not None and done.score.predictions is not None and node.code_sha:
                found.append(_Script(one, node, read_blob(session, node.code_sha).decode(), done))
    return found


def _parents(script: _Script, number_of: Mapping[tuple[str, int], int]) -> tuple[int, ...]:
    known = (number_of.get((script.run.id, parent)) for parent in script.node.parents)
    return tuple(number for number in known if number is not None)


async def _adopt_one(context: RunContext, number: int, script: _Script, action: Action) -> None:
    done, node, settings = script.done, script.node, script.run.settings
    adopted = done.model_copy(update={"id": f"n{number}-{GUARDED}-0"})
    ours = readable_files(context.executor.folder, adopted.id, adopted.score)
    ours[0].parent.mkdir(exist_ok=True)
    (context.executor.folder.executions / adopted.id).mkdir()
    for source, target in zip(readable_files(script.run.folder, done.id, done.score), ours, strict=True):
        shutil.copyfile(source, target)
    for name in ("submission.csv", "solution.py"):
        shutil.copyfile(
            script.run.folder.executions / done.id / name, context.executor.folder.executions / adopted.id / name
        )
    plan = f"Node {node.id} of {settings.agent} with seed {settings.seed}. {node.plan}"
    score, run_id = adopted.value, context.run_id
    with context.store.write() as tx:
        create_node(
            tx,
            run_id,
            id=number,
            action=action.kind,
            parents=action.parents,
            plan=plan,
            code=script.code,
            model=node.model,
        )
        start_execution(tx, run_id, adopted.id, node=number, view=GUARDED)
        end_execution(tx, run_id, adopted.id, reason=adopted.reason, exit_code=None, seconds=adopted.seconds)
        add_evaluation(tx, run_id, adopted.id, score=score, valid=True)

    async def kept() -> dict[str, object]:
        return adopted.model_dump(mode="json")

    await context.steps.once(step_of(GUARDED), kept, node=number)
    with context.store.write() as tx:
        end_node(tx, run_id, number, "valid", score=score, seconds=node.seconds)
