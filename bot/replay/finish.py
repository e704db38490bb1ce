"""After the search: grade what was handed in, grade all nodes against the hidden test, and write the run's files."""

import json
from dataclasses import dataclass
from typing import Any

from bot.evaluation.worker import Worker
from bot.replay.prepare import PreparedRun
from bot.report.export import export_events, export_prompts
from bot.report.result import Graded, result_record
from bot.report.solution import write_solution
from bot.runs.context import RunContext
from bot.runs.stopwatch import Stopwatch
from bot.strategies.attempts import load_tree
from bot.submission.handing_in import HandedIn
from sandbox import SandboxDescription
from state.errors import BotError


@dataclass(frozen=True)
class Finished:
    """A run whose search has ended and whose file, if any, is handed in."""

    run: PreparedRun
    context: RunContext
    sandbox: SandboxDescription
    handed: HandedIn
    status: str
    """`finished`, or `stopped` by a person or `failed` for reasons outside the run: it may be resumed."""
    stopped_by: str | None
    misconfigured: bool
    stopwatch: Stopwatch


async def finish(done: Finished, worker: Worker) -> dict[str, Any]:
    """Grade, export and report; returns the content of result.json.

    The hidden test is touched here for the first time in a run, once nothing of it can flow back.
    """
    run, context = done.run, done.context
    context.say("grading")
    with done.stopwatch.measure("grading"):
        graded = await _grade(done, worker)
    export_events(context.store, run.id, run.folder.events)
    export_prompts(context.store, run.id, run.folder.prompts)
    write_solution(done.context, done.handed, run.folder.solution)
    result = result_record(done, graded)
    _write(run, result)
    with done.stopwatch.measure("report"):
        result["report_error"] = await _report(run, worker, context)
    result |= {"wall_seconds": round(done.stopwatch.wall(), 3), "overhead_seconds": round(done.stopwatch.overhead(), 3)}
    _write(run, result)
    return result


async def _grade(done: Finished, worker: Worker) -> Graded:
    run, context = done.run, done.context
    card = context.card.model_dump(mode="json")
    report = await worker.call(
        "grade", snapshot_dir=str(run.snapshot.path), card=card, submission_path=str(run.folder.submission)
    )
    tree = load_tree(context)
    # What a failed script left behind is no result, though it may look like one (a copy of the sample submission).
    files = {n.id: context.executor.submission_of(n.id, "holdout") for n in tree.valid()}
    hidden = await worker.call(
        "grade_nodes",
        snapshot_dir=str(run.snapshot.path),
        card=card,
        files={str(node): str(file) for node, file in files.items() if file.is_file()},
        # The tree orients scores; turned once more they are the metric's own, as the hidden ones are.
        validation={str(n.id): context.card.oriented(n.score) for n in tree.valid() if n.score is not None},
    )
    return Graded(report, hidden, tree)


async def _report(run: PreparedRun, worker: Worker, context: RunContext) -> str | None:
    """Render report.html; a page that cannot be drawn must not cost the result."""
    context.say("writing the report")
    try:
        await worker.call("report", folder=str(run.folder.path))
    except BotError as error:
        context.say(f"report.html was not written: {error}")
        return str(error)
    return None


def _write(run: PreparedRun, result: dict[str, Any]) -> None:
    text = json.dumps(result, indent=1, allow_nan=False) + "\n"
    partial = run.folder.result.with_suffix(".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(run.folder.result)
