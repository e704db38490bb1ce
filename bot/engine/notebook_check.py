"""The notebook check: a node's notebook runs as at Kaggle, on validation rows in place of the test rows."""

import asyncio
import csv
import shutil
from itertools import islice
from pathlib import Path

from bot.engine.attempts import blend_of, infer_code, load_tree
from bot.engine.context import RunContext
from bot.engine.decisions import Decisions
from bot.engine.notebook_inputs import StagedNotebook, scored_run, stage_notebook
from bot.engine.results import newest_blend
from bot.execution.record import GUARDED, REHEARSAL, REHEARSAL_FEW, ExecutionRecord
from bot.notebooks.limits import SHARE
from bot.notebooks.notebook import NotebookBlend
from sandbox import ExitReason, Lease
from state.closed_model import ClosedModel
from state.errors import UnsupportedLayout
from state.notebooks import NOTEBOOK_REFUSED
from state.steps import Key, StepKind, Steps
from state.store import Store, Transaction

_SHORTEST, _ROOM = 30.0, 0.25
"""Minimum time limit of a check in seconds, and its maximum share of the run's remaining time."""
_BEST_KEPT, _BEST_BLENDED = 3, 8
"""Best nodes, blends among them, whose files in `weights/` stay; and best scripts, if they are blended."""
_TWICE, _SHARE = 2.0, 0.1
"""Seconds of both runs of a check over those on all validation rows; maximum share of a run's time for a blend's."""
_SMALL_DIFFERENCE = 0.01
"""Negligible relative difference of two scores of the same rows, if their noise is unknown."""
_LOCATION = (
    " In this check the folder BOT_DATA contains the competition's files with different test rows: their ids, number and order "
    "differ. BOT_WEIGHTS contains what solution.py left in weights/. There is nothing else, and no network."
)


class NotebookCheckResult(ClosedModel):
    """The result of a notebook check."""

    reason: str | None
    """Why the notebook must not be pushed, in a sentence or two for the coder; None: it passed."""
    seconds: float = 0.0
    """On the validation rows."""
    scaled: float = 0.0
    """Estimated seconds on the hidden test set."""
    rows: int = 0
    """Assumed rows of the hidden test set."""
    score: float | None = None
    """Of its predictions, in the metric's own sign."""

    @property
    def passed(self) -> bool:
        """Whether the notebook may be pushed."""
        return self.reason is None


NOTEBOOK_CHECKED = StepKind("rehearsal", NotebookCheckResult)


async def check_notebook(context: RunContext, node: int, lease: Lease | None = None) -> NotebookCheckResult:
    """Run a node's notebook on validation rows, in both of Kaggle's layouts; a step, so that it is done once.

    It runs on the cores and GPUs of `lease`; None: it waits for its own.

    Raises:
        BudgetExceeded: it does not fit into a budget.
        InfrastructureFailure: our own machinery failed.
    """

    def save(tx: Transaction, result: NotebookCheckResult) -> None:
        if result.reason is not None:
            tx.record(NOTEBOOK_REFUSED, run_id=context.run_id, node=node, reason=result.reason)

    return await context.steps.once(NOTEBOOK_CHECKED, lambda: _check(context, node, lease), Key(node), save=save)


def notebook_check_of(context: RunContext, node: int) -> NotebookCheckResult | None:
    """Return the result of a node's notebook check; None: there was none."""
    return context.steps.find(NOTEBOOK_CHECKED, Key(node))


def packable(context: RunContext) -> list[int]:
    """Return the best scripts that the notebook of a blend may run in time together.

    Each has an `infer.py` that passed its check, and its files stay. There is time for them on Kaggle, and here for the check of
    the blend's own notebook.
    """
    room, seconds_here, nodes = context.notebook_limits.seconds, _SHARE * context.budget.seconds, []
    for node in _best_checked(context):
        result = notebook_check_of(context, node)
        if result is not None and result.scaled <= room and _TWICE * result.seconds <= seconds_here:
            room, seconds_here = room - result.scaled, seconds_here - _TWICE * result.seconds
            nodes.append(node)
    return nodes


def due_check_seconds(store: Store, decisions: Decisions, steps: Steps, run_id: str) -> float:
    """Return the expected seconds of the check of the newest blend's notebook; 0: there is none, or it was checked."""
    newest = newest_blend(store, run_id)
    if newest is None:
        return 0.0
    parents = newest.weights.keys()
    nodes = [node for node, action in decisions if action.kind == "ensemble" and set(action.parents) == parents]
    if any(steps.find(NOTEBOOK_CHECKED, Key(node)) is not None for node in nodes):
        return 0.0
    results = (steps.find(NOTEBOOK_CHECKED, Key(node)) for node in newest.weights)
    return _TWICE * sum(result.seconds for result in results if result is not None)


def _best_checked(context: RunContext) -> list[int]:
    """Return the best scripts with an `infer.py` that passed its check."""
    nodes = [node for node in load_tree(context).valid() if not node.spoiled]
    nodes.sort(key=lambda node: (-node.fitness, node.id))
    results = ((node.id, notebook_check_of(context, node.id)) for node in nodes)
    fit_nodes = (node for node, r in results if r and r.passed and infer_code(context, node) is not None)
    return list(islice(fit_nodes, _BEST_BLENDED))


async def _check(context: RunContext, node: int, lease: Lease | None) -> NotebookCheckResult:
    executor, limits = context.executor, context.notebook_limits
    failure = "its notebook cannot be checked locally"
    if executor.self_reported is not None:
        return NotebookCheckResult(reason=f"{failure} because no rows are withheld: {executor.self_reported}")
    try:
        views = [await executor.view(name) for name in (REHEARSAL_FEW, REHEARSAL)]
    except UnsupportedLayout as error:
        return NotebookCheckResult(reason=f"{failure}: {error}")
    blended, scored_execution = blend_of(context.store, context.run_id, node), scored_run(context, node)
    # A blend's node does not exist yet.
    scripts = (node,) if blended is None else sorted(blended.recipe.weights)
    before = [result.seconds for s in scripts if s != node and (result := notebook_check_of(context, s)) is not None]
    if _TWICE * sum(before) > context.budget.seconds_left():
        return NotebookCheckResult(reason=f"too little time is left to check the notebook of {len(scripts)} scripts")
    flat = executor.folder.executions / f"n{node}-weights"
    weights = {script: executor.weights_of(scored_run(context, script).id) for script in scripts}
    stage = await stage_notebook(context, node, weights, flat)
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
            return NotebookCheckResult(reason=reason, seconds=execution.seconds, rows=hidden)
    # The second run's further rows give the seconds per row.
    (first, second), (fewer, more_rows) = runs, counts
    seconds_per_row = max(0.0, second.seconds - first.seconds) / max(1, more_rows - fewer)
    growth = executor.views.growth if stage.script.trains else 1.0
    scaled = max(first.seconds, growth * second.seconds + seconds_per_row * (hidden - more_rows))
    reason, allowed = _disagrees(context, stage, scored_execution, second), SHARE * limits.hours * 3600
    if reason is None and scaled > allowed:
        reason = (
            f"{stage.script.name} is too slow: it took {first.seconds:.1f} s for {fewer:,} test rows and "
            f"{second.seconds:.1f} s for {more_rows:,}, so {scaled:,.0f} s are expected for the {hidden:,} hidden rows; "
            f"at most {allowed:,.0f} s are allowed ({SHARE:.0%} of the limit of {limits.hours:g} h)"
        )
    await asyncio.to_thread(shutil.rmtree, flat, True)
    await asyncio.to_thread(trim_weights, context)
    return NotebookCheckResult(reason=reason, seconds=second.seconds, scaled=scaled, rows=hidden, score=second.value)


def _failure(stage: StagedNotebook, execution: ExecutionRecord, rows: int, limit: float) -> str | None:
    """Return why a run has no file that could be scored; None if it has one."""
    name = stage.script.name
    if execution.reason is ExitReason.TIMED_OUT:
        return f"{name} did not finish its local check on {rows:,} test rows within {limit:.0f} s"
    if execution.fault is None:
        return None
    location = "" if stage.script.trains else _LOCATION
    return f"{name} failed its local check on {rows:,} test rows: {execution.fault.removesuffix('.')}.{location}"


def _disagrees(
    context: RunContext, stage: StagedNotebook, solution_run: ExecutionRecord, check_run: ExecutionRecord
) -> str | None:
    """Return why a notebook's predictions are not those of the run that was scored; None if they are, within noise."""
    if solution_run.score is None or check_run.score is None:
        return None
    own_score, notebook_score = solution_run.score.value, check_run.score.value
    noise, card, blends = solution_run.score.std_error, context.card, isinstance(stage.script, NotebookBlend)
    worse = card.oriented(own_score) - card.oriented(notebook_score)
    # A blend's score is cross-fitted, but the weights in its notebook were fitted on these very rows: it may be better.
    if (worse if blends else abs(worse)) <= max(noise or 0.0, _SMALL_DIFFERENCE * abs(own_score)):
        return None
    error = "" if noise is None else f" ± {noise:.2g}"
    if blends:
        name = card.metric.name
        return (
            f"on the same validation rows, {name} is {notebook_score:.6g} for the notebook and {own_score:.6g} for the "
            f"blend{error}"
        )
    return (
        f"infer.py and solution.py predict differently: on the same validation rows, {card.metric.name} is {notebook_score:.6g} "
        f"for infer.py and {own_score:.6g} for solution.py{error}. infer.py must read the test rows in BOT_DATA, build their "
        "features as in training from the files in weights/, and write one row for each id in the sample submission there."
    )


def _rows_of(data: Path) -> int:
    """Return the number of rows of a view's sample submission."""
    with (data / "sample_submission.csv").open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        return max(1, sum(1 for _ in csv.reader(file)) - 1)


def trim_weights(context: RunContext) -> None:
    """Remove the saved files of all but the best nodes: only these are submitted, or members of an ensemble."""
    tree = load_tree(context)
    by_fitness = sorted(tree.candidates(), key=lambda node: (-node.fitness, node.id))
    scripts = {script for node in by_fitness[:_BEST_KEPT] for script in tree.scripts_of(node.id)}
    if context.own_data:
        ranking = sorted(tree.valid(), key=lambda node: (node.spoiled, -node.fitness, node.id))
        scripts.update(node.id for node in ranking[:_BEST_BLENDED])
    elif context.blender is not None:
        scripts.update(_best_checked(context))
    for node in tree.valid():
        if node.id not in scripts:
            shutil.rmtree(context.executor.weights_of(scored_run(context, node.id).id), ignore_errors=True)
