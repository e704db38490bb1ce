"""The dress rehearsal: a node's notebook is run as Kaggle would run it, on withheld rows in place of the test rows."""

import asyncio
import csv
import shutil
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from bot.engine.attempts import blend_of, infer_code, load_tree
from bot.engine.context import RunContext
from bot.engine.decisions import Decisions
from bot.engine.results import newest_blend
from bot.engine.staging import StagedNotebook, scored_run, stage_notebook
from bot.execution.record import GUARDED, REHEARSAL, REHEARSAL_FEW, ExecutionRecord
from bot.notebooks.limits import SHARE
from bot.notebooks.notebook import NotebookBlend
from sandbox import ExitReason, Lease
from state.errors import UnsupportedLayout
from state.notebooks import NOTEBOOK_REFUSED
from state.steps import Key, StepKind, Steps
from state.store import Store, Transaction

_SHORTEST, _ROOM = 30.0, 0.25
"""Seconds that a rehearsal may take in any case, and the share of what is left of the run that it may take."""
_BEST_KEPT, _BEST_BLENDED = 3, 8
"""Best nodes, blends among them, whose files in `weights/` stay; and best scripts, where they are blended."""
_TWICE, _SHARE = 2.0, 0.1
"""Times the seconds of a script's run on all withheld rows that both its runs take; share of a run's time that a blend's may."""
_SMALL_DIFFERENCE = 0.01
"""Relative difference of two scores of the same rows that counts as none, where no noise is known."""


class RehearsalResult(BaseModel):
    """The result of a dress rehearsal."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    reason: str | None
    """Why the notebook must not be pushed, in a sentence or two for the coder; None: it passed."""
    seconds: float = 0.0
    """On the withheld rows."""
    scaled: float = 0.0
    """Seconds reckoned for the hidden test set."""
    rows: int = 0
    """Rows of the hidden test set that were reckoned with."""
    score: float | None = None
    """Of its predictions, in the metric's own sign."""

    @property
    def passed(self) -> bool:
        """Whether the notebook may be pushed."""
        return self.reason is None


REHEARSED = StepKind("rehearsal", RehearsalResult)


async def rehearsed(context: RunContext, node: int, lease: Lease | None = None) -> RehearsalResult:
    """Run a node's notebook on withheld rows, in both of Kaggle's layouts; a step, so that it is done once.

    It runs on the cores and GPUs that `lease` holds; None: it waits for its own.

    Raises:
        BudgetExceeded: it does not fit into a budget.
        InfrastructureFailure: our own machinery failed.
    """

    def save(tx: Transaction, rehearsal: RehearsalResult) -> None:
        if rehearsal.reason is not None:
            tx.record(NOTEBOOK_REFUSED, run_id=context.run_id, node=node, reason=rehearsal.reason)

    return await context.steps.once(REHEARSED, lambda: _rehearse(context, node, lease), Key(node), save=save)


def rehearsal_of(context: RunContext, node: int) -> RehearsalResult | None:
    """Return the result of a node's dress rehearsal; None: there was none."""
    return context.steps.find(REHEARSED, Key(node))


def packable(context: RunContext) -> list[int]:
    """Return the scripts that the notebook of a blend may run: the best, as many as are done in time together.

    Each has an `infer.py` that passed its rehearsal, and what it predicts with is kept. There is time for them on Kaggle, and
    here for the blend's own rehearsal.
    """
    room, seconds_here, nodes = context.notebook_limits.seconds, _SHARE * context.budget.seconds, []
    for node in _best_rehearsed(context):
        rehearsal = rehearsal_of(context, node)
        if rehearsal is not None and rehearsal.scaled <= room and _TWICE * rehearsal.seconds <= seconds_here:
            room, seconds_here = room - rehearsal.scaled, seconds_here - _TWICE * rehearsal.seconds
            nodes.append(node)
    return nodes


def rehearsal_due(store: Store, decisions: Decisions, steps: Steps, run_id: str) -> float:
    """Return the seconds that the rehearsal of the newest blend is expected to take; 0: there is none, or it was."""
    newest = newest_blend(store, run_id)
    if newest is None:
        return 0.0
    members_of_newest = newest.weights.keys()
    ensembles = (
        node for node, action in decisions if action.kind == "ensemble" and set(action.parents) == members_of_newest
    )
    if any(steps.find(REHEARSED, Key(node)) is not None for node in ensembles):
        return 0.0
    members = (steps.find(REHEARSED, Key(node)) for node in newest.weights)
    return _TWICE * sum(rehearsal.seconds for rehearsal in members if rehearsal is not None)


def _best_rehearsed(context: RunContext) -> list[int]:
    """Return the best scripts with an `infer.py` that passed its rehearsal."""
    by_fitness = sorted(
        (node for node in load_tree(context).valid() if not node.spoiled), key=lambda node: (-node.fitness, node.id)
    )
    rehearsals = ((node.id, rehearsal_of(context, node.id)) for node in by_fitness)
    fit_nodes = (node for node, r in rehearsals if r and r.passed and infer_code(context, node) is not None)
    return list(islice(fit_nodes, _BEST_BLENDED))


async def _rehearse(context: RunContext, node: int, lease: Lease | None) -> RehearsalResult:
    executor, limits = context.executor, context.notebook_limits
    if executor.self_reported is not None:
        return RehearsalResult(
            reason=f"its notebook cannot be checked locally, as no rows are withheld: {executor.self_reported}"
        )
    try:
        views = [await executor.view(name) for name in (REHEARSAL_FEW, REHEARSAL)]
    except UnsupportedLayout as error:
        return RehearsalResult(reason=f"its notebook cannot be checked locally: {error}")
    scripts, scored_execution = _scripts_of(context, node), scored_run(context, node)
    before = [rehearsal.seconds for s in scripts if s != node and (rehearsal := rehearsal_of(context, s)) is not None]
    if _TWICE * sum(before) > context.budget.seconds_left():
        return RehearsalResult(reason=f"too little time is left to check the notebook of {len(scripts)} scripts")
    flat = executor.folder.executions / f"n{node}-weights"
    stage = await stage_notebook(
        context, node, {script: executor.weights_of(scored_run(context, script).id) for script in scripts}, flat
    )
    counts = [await asyncio.to_thread(_rows_of, view.data) for view in views]
    hidden = limits.hidden(await asyncio.to_thread(_rows_of, (await executor.view(GUARDED)).data))
    limit = min(limits.seconds, max(_SHORTEST, _ROOM * context.budget.seconds_left(), _TWICE * sum(before)))
    runs: list[ExecutionRecord] = []
    context.say(f"node {node}: checking its notebook")
    for view, rows, name, new in zip(views, counts, (REHEARSAL_FEW, REHEARSAL), (True, False), strict=True):
        inputs = stage.inputs(view.data, new=new)
        execution = await executor.execute(node, stage.script.as_script(), name, limit, lease=lease, inputs=inputs)
        runs.append(execution)
        if (reason := _failure(stage, execution, rows, limit)) is not None:
            return RehearsalResult(reason=reason, seconds=execution.seconds, rows=hidden)
    scaled = _scaled(runs, counts, hidden, executor.growth if stage.script.trains else 1.0)
    reason = _disagrees(context, stage, scored_execution, runs[1]) or _too_slow(
        stage, runs, counts, hidden, scaled, limits.hours
    )
    await asyncio.to_thread(shutil.rmtree, flat, True)
    await asyncio.to_thread(trim_weights, context)
    return RehearsalResult(reason=reason, seconds=runs[1].seconds, scaled=scaled, rows=hidden, score=runs[1].value)


def _failure(stage: StagedNotebook, execution: ExecutionRecord, rows: int, limit: float) -> str | None:
    """Return why a run has no file that could be scored; None if it has one."""
    name = stage.script.name
    if execution.reason is ExitReason.TIMED_OUT:
        return f"{name} did not end within {limit:.0f} s on {rows:,} test rows in the dress rehearsal"
    if execution.fault is None:
        return None
    location = (
        ""
        if stage.script.trains
        else (
            " There the folder BOT_DATA holds the competition's files with other test rows: other ids, in another number and "
            "order; BOT_WEIGHTS holds what solution.py left in weights/; nothing else is there, and no network."
        )
    )
    return f"{name} failed in its local check on {rows:,} test rows: {execution.fault.removesuffix('.')}.{location}"


def _scripts_of(context: RunContext, node: int) -> Sequence[int]:
    """Return the members of a blend, whose node is not there yet, or the script itself."""
    blended = blend_of(context.store, context.run_id, node)
    return (node,) if blended is None else sorted(blended.recipe.weights)


def _disagrees(
    context: RunContext, stage: StagedNotebook, solution_run: ExecutionRecord, rehearsal_run: ExecutionRecord
) -> str | None:
    """Return why a notebook's predictions are not those of the run that was scored; None if they are, within noise."""
    if solution_run.score is None or rehearsal_run.score is None:
        return None
    own_score, rehearsed_score = solution_run.score.value, rehearsal_run.score.value
    noise, card, blends = solution_run.score.std_error, context.card, isinstance(stage.script, NotebookBlend)
    worse = card.oriented(own_score) - card.oriented(rehearsed_score)
    # A blend's score is cross-fitted, but the weights in its notebook were fitted on these very rows: it may be better.
    if (worse if blends else abs(worse)) <= max(noise or 0.0, _SMALL_DIFFERENCE * abs(own_score)):
        return None
    error = "" if noise is None else f" ± {noise:.2g}"
    if blends:
        name = card.metric.name
        return f"on the same withheld rows the notebook's {name} is {rehearsed_score:.6g}, the blend's own {own_score:.6g}{error}"
    return (
        f"infer.py does not predict what solution.py predicts: on the same withheld rows its {card.metric.name} is "
        f"{rehearsed_score:.6g}, that of solution.py {own_score:.6g}{error}. It must read the test rows of BOT_DATA, make their "
        "features as in training from what weights/ holds, and write one row for each id of the sample submission there."
    )


def _scaled(runs: list[ExecutionRecord], counts: list[int], hidden: int, growth: float) -> float:
    """Return the seconds reckoned for the hidden rows, by what the further rows of the second run took."""
    (first, second), (fewer, more_rows) = runs, counts
    seconds_per_row = max(0.0, second.seconds - first.seconds) / max(1, more_rows - fewer)
    return max(first.seconds, growth * second.seconds + seconds_per_row * (hidden - more_rows))


def _too_slow(
    stage: StagedNotebook,
    runs: list[ExecutionRecord],
    counts: list[int],
    hidden: int,
    scaled: float,
    hours: float,
) -> str | None:
    if scaled <= SHARE * hours * 3600:
        return None
    return (
        f"{stage.script.name} is too slow: it took {runs[0].seconds:.1f} s for {counts[0]:,} test rows and "
        f"{runs[1].seconds:.1f} s for {counts[1]:,}, so {scaled:,.0f} s are to be expected for the {hidden:,} hidden ones; "
        f"{SHARE * hours * 3600:,.0f} s may be used ({SHARE:.0%} of the limit of {hours:g} h)"
    )


def _rows_of(data: Path) -> int:
    """Return how many rows the sample submission of a view has."""
    with (data / "sample_submission.csv").open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        return max(1, sum(1 for _ in csv.reader(file)) - 1)


def trim_weights(context: RunContext) -> None:
    """Remove what all but the best nodes have saved: only the best are handed in, or become part of an ensemble."""
    tree = load_tree(context)
    by_fitness = sorted(tree.candidates(), key=lambda node: (-node.fitness, node.id))
    scripts = {script for node in by_fitness[:_BEST_KEPT] for script in tree.scripts_of(node.id)}
    if context.own_data:
        scripts.update(
            node.id
            for node in sorted(tree.valid(), key=lambda node: (node.spoiled, -node.fitness, node.id))[:_BEST_BLENDED]
        )
    elif context.blender is not None:
        scripts.update(_best_rehearsed(context))
    for node in tree.valid():
        if node.id not in scripts:
            shutil.rmtree(context.executor.weights_of(scored_run(context, node.id).id), ignore_errors=True)
