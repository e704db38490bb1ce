"""Playbooks: what draft, debug and improve do; both agents share them and differ in how they brief the coder."""

from dataclasses import dataclass
from typing import Protocol

from bot.coder import Attempt, Brief, CoderBudget, Script
from bot.coder.prompts import ScriptAnswer, WriteScript
from bot.coder.script_coder import ScriptCoder
from bot.evaluation.executed import Executed
from bot.evaluation.executor import DEBUG
from bot.models import Item
from bot.runs.budget import SAMPLE_SHARE
from bot.runs.context import RunContext
from bot.strategies import Action
from bot.strategies.attempts import holdout_seconds
from bot.strategies.exploring import NodeExplorer
from bot.strategies.suspicion import SUSPICIOUS, failed_alike
from bot.strategies.tree import Tree
from state.errors import BudgetExceeded, ModelRefused
from state.progress import NodeStatus, end_node, update_node

LONG_RUN_SECONDS = 60.0
"""A debug run on a sample is pointless where the hold-out run may not take longer than this, or the parent's did not."""
SAMPLE_SECONDS = 120.0


@dataclass(frozen=True)
class Assignment:
    """What the coder is given for one node."""

    brief: Brief
    attempts: tuple[Attempt, ...] = ()
    known: tuple[Item, ...] = ()
    steps_left: int = 0


class Briefing(Protocol):
    """An agent's way to turn an action into an assignment."""

    async def assign(self, action: Action, node: int, tree: Tree) -> Assignment:
        """Return the brief and the feedback; may call models (a draft's plan, a review of earlier runs)."""
        ...

    async def finish(self, tree: Tree) -> None:
        """Do what is still worth doing after the last node (reports)."""
        ...


class ScriptPlaybook:
    """Has one script written, run and scored."""

    def __init__(self, context: RunContext, briefing: Briefing) -> None:
        self._context = context
        self._briefing = briefing

    async def play(self, action: Action, node: int, tree: Tree) -> None:
        """Write, debug-run if that is worth it, run on the hold-out view, score, and record the node's end."""
        context = self._context
        assignment = await self._briefing.assign(action, node, tree)
        try:
            script = await self._script(assignment, node, tree)
        except ModelRefused as error:
            with context.store.write() as tx:
                end_node(tx, context.run_id, node, "buggy", error=f"no script was written: {error}")
            return
        parent = holdout_seconds(context, action.parents[0]) if action.parents else None
        await run_script(context, node, script, best_seconds(context, tree), parent)

    async def _script(self, assignment: Assignment, node: int, tree: Tree) -> Script:
        context = self._context

        def budget() -> CoderBudget:
            limit = context.budget.execution_seconds(best_seconds(context, tree))
            if limit is None:
                raise BudgetExceeded("no time is left for another execution")
            return CoderBudget(assignment.steps_left, context.budget.left(), limit)

        async def ask(prompt: WriteScript) -> ScriptAnswer:
            return await context.asker.ask(prompt, role="coder", name="write", node=node)

        coder = ScriptCoder(ask, assignment.known, NodeExplorer(context, node, assignment.known))
        scripts = coder.scripts(assignment.brief, lambda: assignment.attempts, budget)
        return await anext(scripts)


async def run_script(
    context: RunContext,
    node: int,
    script: Script,
    best: float | None,
    parent_seconds: float | None,
    *,
    baseline: bool = False,
) -> None:
    """Run a script as a node: on the sample view first where a long run may lie ahead, then on the hold-out view.

    The safe baseline has no debug run, and is run however little time is left.

    Raises:
        BudgetExceeded: no time is left for a run that could still be handed in.
        InfrastructureFailure: our own machinery failed.
    """
    with context.store.write() as tx:
        update_node(tx, context.run_id, node, plan=script.plan, code=script.code)
    limit = context.budget.baseline_seconds() if baseline else context.budget.execution_seconds(best)
    if limit is None:
        raise BudgetExceeded("no time is left for another execution")
    short = limit <= LONG_RUN_SECONDS or (parent_seconds is not None and parent_seconds < LONG_RUN_SECONDS)
    # A score that the script prints itself needs no debug run: no view is smaller than the data.
    if not baseline and not short and context.executor.self_reported is None:
        seconds = min(SAMPLE_SECONDS, limit * SAMPLE_SHARE)
        tried = await context.executor.execute(node, script.code, DEBUG, seconds)
        if tried.fault is not None and not _doubtful(context, node, tried.fault):
            _end(context, node, tried)
            return
        limit = context.budget.execution_seconds(best)
        if limit is None:
            raise BudgetExceeded("no time is left for another execution")
    _end(context, node, await context.executor.execute(node, script.code, "holdout", limit))


def _doubtful(context: RunContext, node: int, fault: str) -> bool:
    """Whether a debug run is not believed, as different scripts failed in it with one sentence; said where it is so."""
    alike = failed_alike(context.store, context.run_id, node, fault)
    # Once a full run has failed with that sentence too, it is the scripts': then there are more.
    if alike != SUSPICIOUS:
        return False
    context.say(
        f"node {node}: {alike + 1} different scripts failed in the debug run with the same sentence, which may be the "
        f"engine's fault; this one is run on the hold-out in full: {fault}"
    )
    return True


def _end(context: RunContext, node: int, done: Executed) -> None:
    score = done.score if done.view == "holdout" else None
    status: NodeStatus = "buggy" if score is None else "valid"
    by_itself = context.executor.self_reported is not None
    with context.store.write() as tx:
        end_node(tx, context.run_id, node, status, score=score, error=done.error, self_reported=by_itself)


def best_seconds(context: RunContext, tree: Tree) -> float | None:
    """Return how long the best node's hold-out run took, or None without one."""
    best = tree.best()
    return None if best is None else holdout_seconds(context, best.id)
