"""The refit: what is handed in is run again on all data, and its new file is taken if it may be trusted."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Literal

from bot.engine.attempts import blend_of, code, load_tree
from bot.engine.context import RunContext
from bot.engine.experiments import ExperimentLog
from bot.engine.results import REFIT, Refitted, nodes_in_words
from bot.engine.sealed import retrained
from bot.evaluation.answers.blends import Blended
from bot.evaluation.client.worker import Worker
from bot.execution.record import GUARDED, ExecutionRecord, kept_execution, readable_files
from sandbox import ExitReason, Lease
from state.errors import BotError, InvalidSubmission
from state.steps import Key

HandedInAs = Literal["refit", "fold-average", "holdout", "as-left", "notebook", "experiment"]
MARGIN = 1.2
"""A refit starts only if at least this many times the hold-out run's seconds are left, and again only with so much more time."""
_RUNS = 2
"""Most refits of a script."""
_WORK, _SHORT = 0.6, 2.0
"""A refit that takes less than this share of the scored run's processor time, as much longer as it has more rows, gave up
models, rows or rounds: the same work takes up to half as much again on a busy machine. And seconds too few to say so."""
_MOST_ALIKE = 5
_HALF = 0.5
"""Of the weights by size: on the nineteen members of a run, mixing fewer made it worse one time in three, more hardly ever."""


@dataclass(frozen=True)
class MadeFile:
    """A file that may be handed in, how it was made, and why this one."""

    file: Path
    how: HandedInAs
    note: str


async def refit(context: RunContext, node: int, worker: Worker) -> MadeFile:
    """Run a node, or each member of a blend, again on all data, and return the file to hand in.

    A script's new file counts if it may be trusted (`_refitted`); else its scored run's does. Members are run again by
    their weight, as many as there is time for. Asked again, it returns the same file.
    """
    blended = blend_of(context.store, context.run_id, node)
    if context.experiments is not None and not context.needs_scripts:
        return await _of_experiments(context, context.experiments, node, blended, worker)
    if blended is None:
        return await refit_script(context, node, worker)
    made = await refit_scripts(context, node, worker)
    if all(one.how != "refit" for one in made.values()):
        note = "; ".join(["the blend of the scored files", *_left(made)])
        return MadeFile(context.executor.submission_of(node, GUARDED), "holdout", note)
    out = context.executor.folder.blends_of(node)[1] / "submission.csv"
    out.parent.mkdir(exist_ok=True)
    view = await context.executor.view(GUARDED)
    await worker.write_blend(
        blended.recipe, {one: file.file for one, file in made.items()}, view.data, context.card, out
    )
    return MadeFile(out, "refit", refitted_in_words(made))


async def _of_experiments(
    context: RunContext, log: ExperimentLog, node: int, blended: Blended | None, worker: Worker
) -> MadeFile:
    """Return the file of an experiment or an ensemble, made of its members' runs on all rows where these may be used."""
    executor, bank = context.executor, context.executor.folder.bank
    members, sealed = [node] if blended is None else list(blended.recipe.weights), made_on_all_rows(context, node)
    if not sealed:
        await log.write_submissions(worker, (node,))
        return MadeFile(executor.submission_of(node, GUARDED), "experiment", "the predictions as they were logged")
    out = executor.folder.executions / f"n{node}-sealed" / "submission.csv"
    view = await executor.view(GUARDED)
    if blended is None:
        await worker.write_predictions(bank / sealed[node], view.data, context.card, out)
        return MadeFile(out, "refit", "the predictions of its run on all rows, which agree with those that were logged")
    logged = {one.node: one.result.arrays.test for one in log.all()}
    files = {one: bank / file for one in members if (file := sealed.get(one) or logged[one]) is not None}
    out.parent.mkdir(parents=True, exist_ok=True)
    await worker.write_blend(blended.recipe, files, view.data, context.card, out)
    return MadeFile(out, "refit", f"the ensemble, {len(sealed)} of its {len(members)} members fitted on all rows")


def made_on_all_rows(context: RunContext, node: int) -> dict[int, str]:
    """Return the bank's files of an experiment, or of an ensemble's members, that were made on all rows and may be handed in."""
    blended = blend_of(context.store, context.run_id, node)
    if blended is None and not _built_on_all_rows(context, node):
        return {}
    weights = {node: 1.0} if blended is None else blended.recipe.weights
    sealed = {one: made.file for one in weights if (made := retrained(context, one)) is not None and made.file}
    return sealed if may_be_mixed(weights, sealed) else {}


def _built_on_all_rows(context: RunContext, node: int) -> bool:
    """Return whether half of what an experiment is built on was made on all rows; a stack's own run sees the lab's rows alone."""
    known = {} if context.experiments is None else {one.name: one for one in context.experiments.all()}
    own = next((one for one in known.values() if one.node == node), None)
    if own is None or not own.fitted_on_others:
        return True
    members = [known[name].node for name in own.uses if name in known]
    made = [member for member in members if (run := retrained(context, member)) is not None and run.file]
    return bool(made) and len(made) >= _HALF * len(members)


def may_be_mixed(weights: Mapping[int, float], refitted: Collection[int]) -> bool:
    """Return whether members that were fitted on all rows may be mixed with others that were not.

    A weight below 0 takes out what members have in common, which is less once a few of them have seen more rows.
    """
    sizes = {node: abs(weight) for node, weight in weights.items()}
    return sum(sizes[node] for node in refitted) >= _HALF * sum(sizes.values())


async def refit_scripts(context: RunContext, node: int, worker: Worker) -> Mapping[int, MadeFile]:
    """Run each script that makes a node's file again on all data, the heaviest in a blend first; see `refit_script`."""
    blended = blend_of(context.store, context.run_id, node)
    if blended is None:
        return {node: await refit_script(context, node, worker)}
    weights, slots = blended.recipe.weights, asyncio.Semaphore(context.slots)

    async def refit_member(one: int) -> MadeFile:
        async with slots:
            return await refit_script(context, one, worker)

    order = sorted(weights, key=lambda one: (-weights[one], one))
    return dict(zip(order, await asyncio.gather(*map(refit_member, order)), strict=True))


def refitted_in_words(made: Mapping[int, MadeFile]) -> str:
    """Return how many members of a blend were refitted, and why the others were not."""
    done = sum(one.how == "refit" for one in made.values())
    if done == len(made) == 1:
        return f"node {next(iter(made))}, calibrated, refitted on all data"
    return "; ".join([f"the blend, {done} of its {len(made)} members refitted on all data", *_left(made)])


def _left(made: Mapping[int, MadeFile]) -> Sequence[str]:
    """Return why scripts were not refitted, as many as there are reasons."""
    rest = groupby((one for one in made if made[one].how != "refit"), lambda one: made[one].note)
    return [f"{nodes_in_words(list(left))}: {note}" for note, left in rest]


async def refit_script(context: RunContext, node: int, worker: Worker, lease: Lease | None = None) -> MadeFile:
    """Run a script again on all data, once, and return its new file if it may be trusted, else that of its scored run.

    It runs on the cores and GPUs that `lease` holds; None: it waits for its own.
    """
    executor = context.executor
    scored = executor.submission_of(node, GUARDED)
    if executor.self_reported is not None:
        return MadeFile(scored, "holdout", "the scored file, since no rows were withheld that a refit could learn from")
    try:
        # A step: after a restart less time is left, and another file would be handed in.
        found = await context.steps.once(REFIT, lambda: _refitted(context, node, worker, lease), Key(node))
    except BotError as error:
        return MadeFile(scored, "holdout", f"the scored file, since the refit failed: {error}")
    if found.execution is None:
        return MadeFile(scored, "holdout", f"the scored file, since {found.why}")
    file = executor.folder.executions / found.execution / "submission.csv"
    return MadeFile(file, "refit", "the refit on all data, which agrees with the scored run")


async def _refitted(context: RunContext, node: int, worker: Worker, given: Lease | None) -> Refitted:
    """Run a script again on all data; return the execution whose file may be handed in, or why none may.

    A run that did less than the scored one, or was killed, is followed by one with more time if there is some.
    """
    budget, executor = context.budget, context.executor
    with context.store.read() as session:
        scored = kept_execution(session, context.run_id, node)
    if scored is None:
        return Refitted(why="it has no scored run")
    limit, before = budget.refit_limit(scored.limit or scored.seconds, scored.seconds), 0.0
    why = "too little time was left for a run on `full`"
    await executor.view("full")
    for attempt in range(_RUNS):
        # How much time there is shows once a core is free.
        async with executor.leasing.hold() if given is None else nullcontext(given) as lease:
            limit = min(limit, budget.left())
            if limit < max(MARGIN * scored.seconds + 1, MARGIN * before):
                break
            context.say(f"refitting node {node} on all data" + (f", again, as {why}" if attempt else ""))
            ran = await executor.execute(node, code(context, node), "full", limit, lease=lease, attempt=attempt)
        done_less = _did_less(scored, ran, executor.growth)
        if done_less is None:
            fault = await _fault(context, node, scored, ran, worker)
            return Refitted(why=fault) if fault else Refitted(ran.id)
        why, before, limit = done_less, limit, 2 * limit
    return Refitted(why=why)


def _did_less(scored: ExecutionRecord, ran: ExecutionRecord, growth: float) -> str | None:
    """Return a sentence if a refit was killed, or gave something up to be in time; None if it did what it did before.

    `growth` says of how many times as many rows a refit is.
    """
    if ran.reason is ExitReason.TIMED_OUT and scored.reason is not ExitReason.TIMED_OUT:
        return f"the refit was killed at its time limit of {ran.limit or 0.0:.0f} s"
    if not ran.fine or ran.cpu_seconds is None or scored.cpu_seconds is None or scored.cpu_seconds < _SHORT:
        return None
    if ran.cpu_seconds >= _WORK * max(1.0, growth) * scored.cpu_seconds:
        return None
    return (
        f"the refit took {ran.cpu_seconds:.0f} s of processor time, where the scored run took {scored.cpu_seconds:.0f} s "
        "for fewer rows: it gave something up"
    )


async def _fault(
    context: RunContext, node: int, scored: ExecutionRecord, ran: ExecutionRecord, worker: Worker
) -> str | None:
    """Return why a refit's file may not be handed in for the scored run's; None if it may."""
    folder = context.executor.folder
    file = folder.executions / ran.id / "submission.csv"
    if not ran.fine or not file.is_file():
        return f"the refit failed: {ran.error}"
    predictions, submission = readable_files(folder, scored.id, scored.score)
    view = await context.executor.view(GUARDED)
    try:
        found = await worker.agree(view, file, submission, predictions, _alike(context, node))
    except InvalidSubmission as error:
        return f"the refit's file could not be compared: {error}"
    return None if found.agrees else f"the refit differs too much: {found.message}"


def _alike(context: RunContext, node: int) -> list[Path]:
    """Return the files for the test rows that show how far a sound refit may move.

    They are those of the scripts that score the same within noise.
    """
    executor = context.executor
    tree = load_tree(context)
    with context.store.read() as session:
        mine = kept_execution(session, context.run_id, node)
        error = (mine and mine.score and mine.score.std_error) or 0.0
        near = [
            one.id
            for one in tree.valid()
            if one.id != node and not one.spoiled and abs(one.fitness - tree[node].fitness) <= error
        ]
        kept = [kept_execution(session, context.run_id, one) for one in near[:_MOST_ALIKE]]
    found = [readable_files(executor.folder, one.id, one.score)[1] for one in kept if one is not None]
    return [file for file in found if file.is_file()]
