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
from bot.engine.staging import Staged, scored_run, staged
from bot.execution.record import GUARDED, REHEARSAL, REHEARSAL_FEW, ExecutionRecord
from bot.notebooks.limits import SHARE
from bot.notebooks.notebook import NotebookBlend
from sandbox import ExitReason, Lease
from state.errors import UnsupportedLayout
from state.notebooks import REFUSED
from state.steps import Key, Kind, Steps
from state.store import Store, Transaction

_SHORTEST, _ROOM = 30.0, 0.25
"""Seconds that a rehearsal may take in any case, and the share of what is left of the run that it may take."""
_KEPT, _BLENDED = 3, 8
"""Best nodes, blends among them, whose files in `weights/` stay; and best scripts, where they are blended."""
_TWICE, _SHARE = 2.0, 0.1
"""Times the seconds of a script's run on all withheld rows that both its runs take; share of a run's time that a blend's may."""
_ALIKE = 0.01
"""Relative difference of two scores of the same rows that counts as none, where no noise is known."""


class Rehearsed(BaseModel):
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


REHEARSED = Kind("rehearsal", Rehearsed)


async def rehearsed(context: RunContext, node: int, lease: Lease | None = None) -> Rehearsed:
    """Run a node's notebook on withheld rows, in both of Kaggle's layouts; a step, so that it is done once.

    It runs on the cores and GPUs that `lease` holds; None: it waits for its own.

    Raises:
        BudgetExceeded: it does not fit into a budget.
        InfrastructureFailure: our own machinery failed.
    """

    def save(tx: Transaction, found: Rehearsed) -> None:
        if found.reason is not None:
            tx.record(REFUSED, run_id=context.run_id, node=node, reason=found.reason)

    return await context.steps.once(REHEARSED, lambda: _rehearse(context, node, lease), Key(node), save=save)


def rehearsal_of(context: RunContext, node: int) -> Rehearsed | None:
    """Return the result of a node's dress rehearsal; None: there was none."""
    return context.steps.find(REHEARSED, Key(node))


def packable(context: RunContext) -> list[int]:
    """Return the scripts that the notebook of a blend may run: the best, as many as are done in time together.

    Each has an `infer.py` that passed its rehearsal, and what it predicts with is kept. There is time for them on Kaggle, and
    here for the blend's own rehearsal.
    """
    room, here, found = context.notebook_limits.seconds, _SHARE * context.budget.seconds, []
    for node in _best_rehearsed(context):
        own = rehearsal_of(context, node)
        if own is not None and own.scaled <= room and _TWICE * own.seconds <= here:
            room, here = room - own.scaled, here - _TWICE * own.seconds
            found.append(node)
    return found


def rehearsal_due(store: Store, decisions: Decisions, steps: Steps, run_id: str) -> float:
    """Return the seconds that the rehearsal of the newest blend is expected to take; 0: there is none, or it was."""
    newest = newest_blend(store, run_id)
    if newest is None:
        return 0.0
    made = (node for node, one in decisions if one.kind == "ensemble" and one.look == len(newest.of))
    if any(steps.find(REHEARSED, Key(node)) is not None for node in made):
        return 0.0
    members = (steps.find(REHEARSED, Key(node)) for node in newest.weights)
    return _TWICE * sum(own.seconds for own in members if own is not None)


def _best_rehearsed(context: RunContext) -> list[int]:
    """Return the best scripts with an `infer.py` that passed its rehearsal."""
    ranked = sorted(
        (one for one in load_tree(context).valid() if not one.spoiled), key=lambda one: (-one.fitness, one.id)
    )
    own = ((one.id, rehearsal_of(context, one.id)) for one in ranked)
    passed = (node for node, found in own if found and found.passed and infer_code(context, node) is not None)
    return list(islice(passed, _BLENDED))


async def _rehearse(context: RunContext, node: int, lease: Lease | None) -> Rehearsed:
    executor, limits = context.executor, context.notebook_limits
    if executor.self_reported is not None:
        return Rehearsed(reason=f"its notebook cannot be rehearsed, as no rows are withheld: {executor.self_reported}")
    try:
        views = [await executor.view(name) for name in (REHEARSAL_FEW, REHEARSAL)]
    except UnsupportedLayout as error:
        return Rehearsed(reason=f"its notebook cannot be rehearsed: {error}")
    scripts, own = _scripts_of(context, node), scored_run(context, node)
    before = [found.seconds for one in scripts if one != node and (found := rehearsal_of(context, one)) is not None]
    if _TWICE * sum(before) > context.budget.left():
        return Rehearsed(reason=f"too little time is left to rehearse the notebook of {len(scripts)} scripts")
    flat = executor.folder.executions / f"n{node}-weights"
    stage = await staged(
        context, node, {one: executor.weights_of(scored_run(context, one).id) for one in scripts}, flat
    )
    counts = [await asyncio.to_thread(_rows_of, view.data) for view in views]
    hidden = limits.hidden(await asyncio.to_thread(_rows_of, (await executor.view(GUARDED)).data))
    most = min(limits.seconds, max(_SHORTEST, _ROOM * context.budget.left(), _TWICE * sum(before)))
    ran: list[ExecutionRecord] = []
    context.say(f"node {node}: dress rehearsal of its notebook")
    for view, rows, name, new in zip(views, counts, (REHEARSAL_FEW, REHEARSAL), (True, False), strict=True):
        inputs = stage.inputs(view.data, new=new)
        done = await executor.execute(node, stage.script.as_script(), name, most, lease=lease, inputs=inputs)
        ran.append(done)
        if (reason := _failure(stage, done, rows, most)) is not None:
            return Rehearsed(reason=reason, seconds=done.seconds, rows=hidden)
    scaled = _scaled(ran, counts, hidden, executor.growth if stage.script.trains else 1.0)
    reason = _disagrees(context, stage, own, ran[1]) or _too_slow(stage, ran, counts, hidden, scaled, limits.hours)
    await asyncio.to_thread(shutil.rmtree, flat, True)
    await asyncio.to_thread(trim_weights, context)
    return Rehearsed(reason=reason, seconds=ran[1].seconds, scaled=scaled, rows=hidden, score=ran[1].value)


def _failure(stage: Staged, done: ExecutionRecord, rows: int, most: float) -> str | None:
    """Return why a run has no file that could be scored; None if it has one."""
    name = stage.script.name
    if done.reason is ExitReason.TIMED_OUT:
        return f"{name} did not end within {most:.0f} s on {rows:,} test rows in the dress rehearsal"
    if done.fault is None:
        return None
    where = (
        ""
        if stage.script.trains
        else (
            " There the folder BOT_DATA holds the competition's files with other test rows: other ids, in another number and "
            "order; BOT_WEIGHTS holds what solution.py left in weights/; nothing else is there, and no network."
        )
    )
    return f"{name} failed in the dress rehearsal on {rows:,} test rows: {done.fault.removesuffix('.')}.{where}"


def _scripts_of(context: RunContext, node: int) -> Sequence[int]:
    """Return the members of a blend, whose node is not there yet, or the script itself."""
    blended = blend_of(context.store, context.run_id, node)
    return (node,) if blended is None else sorted(blended.recipe.weights)


def _disagrees(context: RunContext, stage: Staged, own: ExecutionRecord, done: ExecutionRecord) -> str | None:
    """Return why a notebook's predictions are not those of the run that was scored; None if they are, within noise."""
    if own.score is None or done.score is None:
        return None
    mine, theirs = own.score.value, done.score.value
    noise, card, blends = own.score.std_error, context.card, isinstance(stage.script, NotebookBlend)
    worse = card.oriented(mine) - card.oriented(theirs)
    # A blend's score is cross-fitted, but the weights in its notebook were fitted on these very rows: it may be better.
    if (worse if blends else abs(worse)) <= max(noise or 0.0, _ALIKE * abs(mine)):
        return None
    error = "" if noise is None else f" ± {noise:.2g}"
    if blends:
        name = card.metric.name
        return f"on the same withheld rows the notebook's {name} is {theirs:.6g}, the blend's own {mine:.6g}{error}"
    return (
        f"infer.py does not predict what solution.py predicts: on the same withheld rows its {card.metric.name} is "
        f"{theirs:.6g}, that of solution.py {mine:.6g}{error}. It must read the test rows of BOT_DATA, make their features as in "
        "training from what weights/ holds, and write one row for each id of the sample submission there."
    )


def _scaled(ran: list[ExecutionRecord], counts: list[int], hidden: int, growth: float) -> float:
    """Return the seconds reckoned for the hidden rows, by what the further rows of the second run took."""
    (few, many), (fewer, more) = ran, counts
    each = max(0.0, many.seconds - few.seconds) / max(1, more - fewer)
    return max(few.seconds, growth * many.seconds + each * (hidden - more))


def _too_slow(
    stage: Staged, ran: list[ExecutionRecord], counts: list[int], hidden: int, scaled: float, hours: float
) -> str | None:
    if scaled <= SHARE * hours * 3600:
        return None
    return (
        f"{stage.script.name} is too slow: it took {ran[0].seconds:.1f} s for {counts[0]:,} test rows and "
        f"{ran[1].seconds:.1f} s for {counts[1]:,}, so {scaled:,.0f} s are to be expected for the {hidden:,} hidden ones; "
        f"{SHARE * hours * 3600:,.0f} s may be used ({SHARE:.0%} of the limit of {hours:g} h)"
    )


def _rows_of(data: Path) -> int:
    """Return how many rows the sample submission of a view has."""
    with (data / "sample_submission.csv").open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        return max(1, sum(1 for _ in csv.reader(file)) - 1)


def trim_weights(context: RunContext) -> None:
    """Remove what all but the best nodes have saved: only the best are handed in, or become part of an ensemble."""
    tree = load_tree(context)
    ranked = sorted(tree.candidates(), key=lambda one: (-one.fitness, one.id))
    kept = {script for node in ranked[:_KEPT] for script in tree.scripts_of(node.id)}
    if context.own_data:
        kept.update(
            node.id for node in sorted(tree.valid(), key=lambda node: (node.spoiled, -node.fitness, node.id))[:_BLENDED]
        )
    elif context.blender is not None:
        kept.update(_best_rehearsed(context))
    for node in tree.valid():
        if node.id not in kept:
            shutil.rmtree(context.executor.weights_of(scored_run(context, node.id).id), ignore_errors=True)
