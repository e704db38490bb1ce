"""Running a node's script on a sample and on the hold-out view, scoring it, and recording the result."""

import asyncio
from dataclasses import dataclass
from datetime import datetime

from bot.engine.context import RunContext
from bot.engine.notebook_check import check_notebook, trim_weights
from bot.engine.strategy import Script
from bot.engine.suspicion import SUSPICIOUS, failed_alike
from bot.engine.tree import Tree
from bot.execution.record import DEBUG, GUARDED, ExecutionRecord
from sandbox import Lease
from state.errors import BudgetExceeded
from state.progress import NodeStatus, end_node, update_node
from state.steps import StepKind

SHORTEST_PROMISE = 0.5
"""Minimum share of the time limit that a script's prompt promised."""


@dataclass(frozen=True)
class ScriptTimeLimits:
    """The time limits (seconds) that a script's prompt promises."""

    seconds: float
    """For the run on the hold-out view."""
    debug: float | None = None
    """For the debug run on the sample before it; None: there is none."""


LIMITS = StepKind("limits", ScriptTimeLimits)
"""A step, so that a resumed run has the same."""


async def run_script(
    context: RunContext,
    node: int,
    script: Script,
    best: float | None,
    limits: ScriptTimeLimits | None = None,
    reference: int | None = None,
    start: datetime | None = None,
    lease: Lease | None = None,
    idle: bool = False,
) -> None:
    """Run a script as a node: on the sample view first where its limits say so, then on the hold-out view.

    Args:
        best: seconds of the best node's hold-out run; None without one.
        limits: those promised in its prompt; None for a baseline, which has no debug run, and is run however little time is
            left.
        reference: the node that it is compared with, for its gain.
        start: of the work on it; None: when the node was created.
        lease: cores and GPUs of the caller; None: the script waits for its own.
        idle: whether it runs in the idle time of the run's labs, on their cores.

    Raises:
        BudgetExceeded: no time is left for a run that could still be submitted.
        InfrastructureFailure: the engine failed.
    """
    with context.store.write() as tx:
        update_node(tx, context.run_id, node, plan=script.plan, code=script.code, infer=script.infer)
    if limits is not None and limits.debug is not None:
        trial = await context.executor.execute(node, script.code, DEBUG, limits.debug)
        if trial.fault is not None and not _doubtful(context, node, trial.fault):
            _end(context, node, trial, start)
            return
    if limits is None:
        seconds = context.budget.baseline_seconds(spare=context.tree_cache.spare_baseline)
    else:
        seconds = seconds_left(context, best, limits)
    execution = await context.executor.execute(
        node, script.code, GUARDED, seconds, reference=reference, lease=lease, idle=idle
    )
    refusal = None
    if context.takes_notebooks and script.infer is not None and execution.score is not None:
        # A few seconds: a script that cannot be submitted is worth nothing, and its coder learns why.
        refusal = (await check_notebook(context, node, lease)).reason
    _end(context, node, execution, start, refusal)
    if context.own_data:
        await asyncio.to_thread(trim_weights, context)


def seconds_left(context: RunContext, best: float | None, limits: ScriptTimeLimits) -> float:
    """Return the time limit of a hold-out run that starts now: the promised one, or less if the refit needs the time.

    `best` is the seconds of the best node's hold-out run. Raises BudgetExceeded: less than half of the limit is left.
    """
    room = context.budget.usable(best)
    if room < SHORTEST_PROMISE * limits.seconds:
        raise BudgetExceeded("no time left for another execution")
    return min(limits.seconds, room)


def _doubtful(context: RunContext, node: int, fault: str) -> bool:
    """Return whether a debug run's failure may be the engine's fault, as different scripts had it; if so, report that."""
    alike_count = failed_alike(context.store, context.run_id, node, fault)
    # This script's full run is next. If it fails the same way, the count grows, and later failures are the scripts' own.
    if alike_count != SUSPICIOUS:
        return False
    context.say(
        f"node {node}: {alike_count + 1} different scripts failed in the debug run with the same message. The engine may be at "
        f"fault, so this script runs on the full hold-out view: {fault}"
    )
    return True


def _end(
    context: RunContext, node: int, execution: ExecutionRecord, start: datetime | None, refusal: str | None = None
) -> None:
    score = execution.value if execution.view == GUARDED and refusal is None else None
    status: NodeStatus = "buggy" if score is None else "valid"
    by_itself = context.executor.self_reported is not None
    with context.store.write() as tx:
        error = execution.error if refusal is None else f"solution.py works, but {refusal}"
        end_node(tx, context.run_id, node, status, score=score, error=error, self_reported=by_itself, since=start)
    if score is not None:
        context.blended.clear()
        context.new_score.set()


def best_seconds(context: RunContext, tree: Tree) -> float | None:
    """Return the seconds of the best node's hold-out run, for the time that its refit needs; None: none is reserved.

    It is None without such a node, in labs (where nothing is refitted), and until a script of the search has a score: on a busy
    machine the refit of a baseline would take all the time that is left.
    """
    searched = any(node.valid and not node.baseline for node in tree.nodes)
    best = tree.best() if searched and not context.budget.labs else None
    execution = None if best is None else context.executor.kept_execution(best.id)
    return None if execution is None else execution.seconds
