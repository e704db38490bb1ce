"""The refit: what is submitted is run again on all data, and its new file is taken if it may be trusted."""

import asyncio
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Literal

from bot.engine.attempts import blend_of, code, load_tree
from bot.engine.context import RunContext
from bot.engine.experiments import ExperimentLog
from bot.engine.results import REFIT, Refitted, nodes_in_words
from bot.engine.sealed_runs import retrained
from bot.evaluation.answers.blends import FittedBlend
from bot.evaluation.client.worker import Worker
from bot.execution.record import GUARDED, ExecutionRecord, kept_execution, readable_files
from bot.notebooks.weights import WEIGHTS
from sandbox import ExitReason
from scrapers.snapshots.files import walk
from state.errors import BotError, InvalidSubmission
from state.steps import Key

PredictionSource = Literal["refit", "holdout", "as-left", "notebook", "experiment"]
MARGIN = 1.2
"""A refit starts only if at least this many times the hold-out run's seconds are left, and again only with so much more time."""
_RUNS = 2
"""Most refits of a script."""
_WORK, _SHORT = 0.6, 2.0
"""A refit that takes less than this share of the scored run's processor time, as much longer as it has more rows, gave up
models, rows or rounds: the same work takes up to half as much again on a busy machine. And seconds too few to say so."""
_BRIEF, _FEWEST_LINES = 10.0, 4
"""Seconds of processor time of which the start is so large a part that a run is not doubted if it stored the same models
or printed the same lines, numbers apart; and how many lines say something."""
_NUMBER, _ROWS = re.compile(r"\d+(?:\.\d+)?"), re.compile(r"\b(\d[\d,]*) (?:training )?rows\b")
_LIKE = 0.95
"""Share of a stored model's bytes that one of at least as many rows has in any case."""
_MOST_ALIKE = 5
_HALF = 0.5
"""Of the weights by size: on the nineteen members of a run, mixing fewer made it worse one time in three, more hardly ever."""


@dataclass(frozen=True)
class MadeFile:
    """A file that may be submitted, how it was made, and why this one."""

    file: Path
    source: PredictionSource
    note: str


async def refit(context: RunContext, node: int, worker: Worker) -> MadeFile:
    """Run a node, or each member of a blend, again on all data, and return the file to submit.

    A script's new file counts if it may be trusted (`_refitted`); else its scored run's does. Members are run again by
    their weight, as many as there is time for. Asked again, it returns the same file.
    """
    blended = blend_of(context.store, context.run_id, node)
    if context.experiments is not None and not context.needs_scripts:
        return await _of_experiments(context, context.experiments, node, blended, worker)
    if blended is None:
        return await refit_script(context, node, worker)
    files = await refit_scripts(context, node, worker)
    if all(made_file.source != "refit" for made_file in files.values()):
        note = "; ".join(["the ensemble of the scored files", *_not_refitted(files)])
        return MadeFile(context.executor.submission_of(node, GUARDED), "holdout", note)
    out = context.executor.folder.blends_of(node)[1] / "submission.csv"
    out.parent.mkdir(exist_ok=True)
    view = await context.executor.view(GUARDED)
    await worker.write_blend(
        blended.recipe, {member: file.file for member, file in files.items()}, view.data, context.card, out
    )
    return MadeFile(out, "refit", refitted_in_words(files))


async def _of_experiments(
    context: RunContext, log: ExperimentLog, node: int, blended: FittedBlend | None, worker: Worker
) -> MadeFile:
    """Return the file of an experiment or an ensemble, made of its members' runs on all rows where these may be used."""
    executor, bank = context.executor, context.executor.folder.bank
    members, sealed = [node] if blended is None else list(blended.recipe.weights), made_on_all_rows(context, node)
    if not sealed:
        await log.write_submissions(worker, (node,))
        return MadeFile(executor.submission_of(node, GUARDED), "experiment", "the logged predictions")
    out = executor.folder.executions / f"n{node}-sealed" / "submission.csv"
    view = await executor.view(GUARDED)
    if blended is None:
        await worker.write_predictions(bank / sealed[node], view.data, context.card, out)
        return MadeFile(out, "refit", "the predictions from its run on all rows, which agree with those that it logged")
    logged = {experiment.node: experiment.result.arrays.test for experiment in log.all()}
    files = {member: bank / file for member in members if (file := sealed.get(member) or logged[member]) is not None}
    out.parent.mkdir(parents=True, exist_ok=True)
    await worker.write_blend(blended.recipe, files, view.data, context.card, out)
    return MadeFile(out, "refit", f"the ensemble ({len(sealed)} of {len(members)} members fitted on all rows)")


def made_on_all_rows(context: RunContext, node: int) -> dict[int, str]:
    """Return the bank's files of an experiment, or of an ensemble's members, that were made on all rows and may be submitted."""
    blended = blend_of(context.store, context.run_id, node)
    weights = {node: 1.0} if blended is None else blended.recipe.weights
    runs = {member: retrained(context, member) for member in weights if _built_on_all_rows(context, member)}
    sealed = {member: run.file for member, run in runs.items() if run is not None and run.file}
    return sealed if may_be_mixed(weights, sealed) else {}


def _built_on_all_rows(context: RunContext, node: int) -> bool:
    """Return whether half of what an experiment is built on was made on all rows; a stack's own run sees the lab's rows alone."""
    experiments = {} if context.experiments is None else {e.name: e for e in context.experiments.all()}
    experiment = next((candidate for candidate in experiments.values() if candidate.node == node), None)
    if experiment is None or not experiment.fitted_on_others:
        return True
    members = [experiments[name].node for name in experiment.uses if name in experiments]
    retrained_members = [member for member in members if (run := retrained(context, member)) is not None and run.file]
    return bool(retrained_members) and len(retrained_members) >= _HALF * len(members)


def may_be_mixed(weights: Mapping[int, float], refitted: Collection[int]) -> bool:
    """Return whether members that were fitted on all rows may be mixed with others that were not.

    A weight below 0 takes out what members have in common, which is less once a few of them have seen more rows.
    """
    sizes = {node: abs(weight) for node, weight in weights.items()}
    return sum(sizes[node] for node in refitted) >= _HALF * sum(sizes.values()) - 1e-9


async def refit_scripts(context: RunContext, node: int, worker: Worker) -> Mapping[int, MadeFile]:
    """Run each script that makes a node's file again on all data, the heaviest in a blend first; see `refit_script`."""
    blended = blend_of(context.store, context.run_id, node)
    if blended is None:
        return {node: await refit_script(context, node, worker)}
    weights, slots = blended.recipe.weights, asyncio.Semaphore(context.slots)

    async def refit_member(member: int) -> MadeFile:
        async with slots:
            return await refit_script(context, member, worker)

    order = sorted(weights, key=lambda member: (-weights[member], member))
    return dict(zip(order, await asyncio.gather(*map(refit_member, order)), strict=True))


def refitted_in_words(files: Mapping[int, MadeFile]) -> str:
    """Return how many members of a blend were refitted, and why the others were not."""
    refits = sum(made_file.source == "refit" for made_file in files.values())
    if refits == len(files) == 1:
        return f"node {next(iter(files))}, refitted on all data and calibrated"
    return "; ".join([f"the ensemble ({refits} of {len(files)} members refitted on all data)", *_not_refitted(files)])


def _not_refitted(files: Mapping[int, MadeFile]) -> Sequence[str]:
    """Return why scripts were not refitted, as many as there are reasons."""
    by_note = groupby((m for m in files if files[m].source != "refit"), lambda member: files[member].note)
    return [f"{nodes_in_words(list(members))}: {note}" for note, members in by_note]


async def refit_script(context: RunContext, node: int, worker: Worker) -> MadeFile:
    """Run a script again on all data, once, and return its new file if it may be trusted, else that of its scored run."""
    executor = context.executor
    original = executor.submission_of(node, GUARDED)
    if executor.self_reported is not None:
        return MadeFile(original, "holdout", "the scored file, because no rows were withheld")
    try:
        # A step: after a restart less time is left, and another file would be submitted.
        refitted = await context.steps.once(REFIT, lambda: _refitted(context, node, worker), Key(node))
    except BotError as error:
        return MadeFile(original, "holdout", f"the scored file, because the refit failed: {error}")
    if refitted.execution is None:
        return MadeFile(original, "holdout", f"the scored file, because {refitted.reason}")
    file = executor.folder.executions / refitted.execution / "submission.csv"
    return MadeFile(file, "refit", "the refit on all data, which agrees with the scored run")


async def _refitted(context: RunContext, node: int, worker: Worker) -> Refitted:
    """Run a script again on all data; return the execution whose file may be submitted, or why none may.

    A run that did less than the scored one, or was killed, is followed by one with more time if there is some.
    """
    budget, executor = context.budget, context.executor
    first_run = executor.kept_execution(node)
    if first_run is None:
        return Refitted(reason="the node has no scored run")
    limit, before = budget.refit_limit(first_run.limit or first_run.seconds, first_run.seconds), 0.0
    reason = "too little time was left for a refit"
    await executor.view("full")
    for attempt in range(_RUNS):
        # How much time there is shows once a core is free.
        async with executor.leasing.hold() as lease:
            limit = min(limit, budget.seconds_left())
            if limit < max(MARGIN * first_run.seconds + 1, MARGIN * before):
                break
            context.say(f"refitting node {node} on all data" + (f" again, because {reason}" if attempt else ""))
            rerun = await executor.execute(node, code(context, node), "full", limit, lease=lease, attempt=attempt)
        folders = [executor.folder.executions / execution.id for execution in (first_run, rerun)]
        done_less = did_less(first_run, rerun, executor.views.growth, stored_the_same=_stored_the_same(*folders))
        if done_less is None:
            fault = await _fault(context, node, first_run, rerun, worker)
            return Refitted(reason=fault) if fault else Refitted(rerun.id)
        reason, before, limit = done_less, limit, 2 * limit
    return Refitted(reason=reason)


def did_less(
    first_run: ExecutionRecord, rerun: ExecutionRecord, growth: float, *, stored_the_same: bool = False
) -> str | None:
    """Return a sentence if a refit was killed, or gave something up to be in time; None if it did what it did before.

    Args:
        first_run: the scored run.
        rerun: the refit.
        growth: of how many times as many rows a refit is.
        stored_the_same: whether it stored the models of the scored run, and none is smaller.
    """
    if rerun.reason is ExitReason.TIMED_OUT and first_run.reason is not ExitReason.TIMED_OUT:
        return f"the refit was killed at its time limit of {rerun.limit or 0.0:.0f} s"
    # All counts of rows that each run printed.
    printed_rows = (
        [int(number.replace(",", "")) for number in _ROWS.findall(run.output)] for run in (first_run, rerun)
    )
    rows, refit_rows = (max(numbers, default=0) for numbers in printed_rows)
    if rerun.fine and 0 < refit_rows < rows:
        return f"the refit reported {refit_rows:,} rows and the scored run {rows:,}, so the refit did less work"
    if not rerun.fine or rerun.cpu_seconds is None or first_run.cpu_seconds is None or first_run.cpu_seconds < _SHORT:
        return None
    if rerun.cpu_seconds >= _WORK * max(1.0, growth) * first_run.cpu_seconds:
        return None
    is_same = stored_the_same or _printed_the_same(first_run.output, rerun.output)
    if first_run.cpu_seconds < _BRIEF and is_same:
        return None
    return (
        f"the refit took {rerun.cpu_seconds:.0f} s of CPU time, while the scored run took {first_run.cpu_seconds:.0f} s "
        "for fewer rows, so the refit did less work"
    )


def _stored_the_same(first_folder: Path, folder: Path) -> bool:
    """Whether a run stored the models of another, by name, and none in fewer bytes, as where trees see fewer rows."""
    sizes, new_sizes = (
        {path.relative_to(run_folder): path.stat().st_size for path in walk(run_folder / WEIGHTS)}
        if (run_folder / WEIGHTS).is_dir()
        else {}
        for run_folder in (first_folder, folder)
    )
    return bool(sizes) and sizes.keys() == new_sizes.keys() and all(new_sizes[n] >= _LIKE * sizes[n] for n in sizes)


def _printed_the_same(before: str, after: str) -> bool:
    """Return whether a run printed the lines of another but for one, as where each model or epoch has a line of its own."""
    lines, rerun_lines = (
        {" ".join(_NUMBER.sub("#", line).split()) for line in text.splitlines()} for text in (before, after)
    )
    return len(lines) >= _FEWEST_LINES and len(lines - rerun_lines) <= 1


async def _fault(
    context: RunContext, node: int, first_run: ExecutionRecord, rerun: ExecutionRecord, worker: Worker
) -> str | None:
    """Return why a refit's file may not be submitted for the scored run's; None if it may."""
    folder = context.executor.folder
    file = folder.executions / rerun.id / "submission.csv"
    if not rerun.fine or not file.is_file():
        return f"the refit failed: {rerun.error}"
    predictions, submission = readable_files(folder, first_run.id, first_run.score)
    view = await context.executor.view(GUARDED)
    try:
        agreement = await worker.agree(view, file, submission, predictions, _similar_files(context, node))
    except InvalidSubmission as error:
        return f"cannot compare the refit's file: {error}"
    return None if agreement.agrees else f"the refit differs too much from the scored run: {agreement.message}"


def _similar_files(context: RunContext, node: int) -> list[Path]:
    """Return the files for the test rows that show how far a sound refit may move.

    They are those of the scripts that score the same within noise.
    """
    executor = context.executor
    tree = load_tree(context)
    with context.store.read() as session:
        execution = kept_execution(session, context.run_id, node)
        error = (execution and execution.score and execution.score.std_error) or 0.0
        similar_nodes = [
            candidate.id
            for candidate in tree.valid()
            if candidate.id != node and not candidate.spoiled and abs(candidate.fitness - tree[node].fitness) <= error
        ]
        executions = [kept_execution(session, context.run_id, similar) for similar in similar_nodes[:_MOST_ALIKE]]
    files = [readable_files(executor.folder, s.id, s.score)[1] for s in executions if s is not None]
    return [file for file in files if file.is_file()]
