"""Playbooks: what draft, debug and improve do; both agents share them and differ in how they brief the coder."""

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol

from bot.coder import Attempt, Brief, CoderBudget, DraftLeft, Script
from bot.coder.prompts import ScriptAnswer, WriteScript
from bot.coder.writing import write_script
from bot.evaluation.executed import Executed
from bot.evaluation.executor import DEBUG
from bot.models import Item
from bot.runs.budget import REFIT_FACTOR, SAMPLE_SHARE
from bot.runs.context import RunContext
from bot.runs.results import NOISE_STEP
from bot.strategies import Action
from bot.strategies.attempts import holdout_seconds
from bot.strategies.suspicion import SUSPICIOUS, failed_alike
from bot.strategies.tree import Tree
from state.errors import BudgetExceeded, ModelRefused
from state.progress import NodeStatus, end_node, update_node

LONG_RUN_SECONDS = 60.0
"""A debug run on a sample is pointless where the hold-out run may not take longer than this, or the parent's did not."""
SAMPLE_SECONDS = 120.0


FIRST_ANSWER_SHARE = 0.05
"""Share of a run's time that its first script is expected to take to be written."""
SHORTEST_PROMISE = 0.5
"""A script is not run with less than this share of the time limit that its prompt promised."""
NOISE_SHARE, NOISE_SECONDS = 0.002, 3.0
"""Of a run's time, and at the most, that the noise of one score may take to estimate."""


@dataclass(frozen=True)
class Assignment:
    """What the coder is given for one node."""

    brief: Brief
    attempts: tuple[Attempt, ...] = ()
    known: tuple[Item, ...] = ()
    left: DraftLeft | None = None
    """Of the node's draft; None where it has none."""
    compared: int | None = None
    """The node whose score this one's is compared with; None: its first parent."""


@dataclass(frozen=True)
class Limits:
    """The time limits (seconds) that a script's prompt promises."""

    seconds: float
    """Of the run on the hold-out view."""
    debug: float | None
    """Of the run on the sample before it; None: there is none."""


class Briefing(Protocol):
    """An agent's way to turn an action into an assignment."""

    async def assign(self, action: Action, node: int, tree: Tree) -> Assignment:
        """Return the brief and the feedback; may call models (a draft's plan, a review of earlier runs)."""
        ...

    async def meanwhile(self, tree: Tree) -> None:
        """Do, while a node is worked on, what will be needed later; it is done then if it fails now."""
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
        assignment = await self._briefing.assign(action, node, tree)
        meanwhile = asyncio.create_task(self._briefing.meanwhile(tree))
        meanwhile.add_done_callback(lambda task: task.cancelled() or task.exception())
        try:
            await self._work(action, node, tree, assignment)
            await asyncio.wait({meanwhile})
        finally:
            meanwhile.cancel()
            await asyncio.wait({meanwhile})

    async def _work(self, action: Action, node: int, tree: Tree, assignment: Assignment) -> None:
        context = self._context
        # What was read and planned before is the round's work, not this script's.
        begun = context.clock.now()
        limits = await self._promise(action, node, tree)
        try:
            script = await self._script(assignment, node, tree, limits)
        except ModelRefused as error:
            with context.store.write() as tx:
                end_node(tx, context.run_id, node, "buggy", error=f"no script was written: {error}", since=begun)
            return
        parents = (assignment.compared,) if assignment.compared is not None else action.parents
        await run_script(context, node, script, best_seconds(context, tree), limits, next(iter(parents), None), begun)

    async def _promise(self, action: Action, node: int, tree: Tree) -> Limits:
        """Return the limits that will hold however long the model takes to answer; a step, so that they stay the same."""
        context = self._context

        async def promise() -> dict[str, Any]:
            expected = context.asker.longest_answer("coder", FIRST_ANSWER_SHARE * context.budget.seconds)
            seconds = context.budget.execution_seconds(best_seconds(context, tree), expected)
            if seconds is None:
                raise BudgetExceeded("no time is left for another execution")
            parent = holdout_seconds(context, action.parents[0]) if action.parents else None
            short = seconds <= LONG_RUN_SECONDS or (parent is not None and parent < LONG_RUN_SECONDS)
            # A score that the script prints itself needs no debug run: no view is smaller than the data.
            no_sample = short or context.executor.self_reported is not None
            return {"seconds": seconds, "debug": None if no_sample else min(SAMPLE_SECONDS, seconds * SAMPLE_SHARE)}

        return Limits(**await context.steps.once("limits", promise, node=node))

    async def _script(self, assignment: Assignment, node: int, tree: Tree, limits: Limits) -> Script:
        context = self._context
        remaining = context.budget.remaining(len(tree.nodes), best_seconds(context, tree))
        budget = CoderBudget(
            execution_seconds=limits.seconds,
            seconds_left=context.budget.left(),
            # This node counts among the tree's already.
            scripts_left=None if remaining.steps is None else remaining.steps + 1,
            draft=assignment.left,
            debug_seconds=limits.debug,
        )

        async def ask(prompt: WriteScript) -> ScriptAnswer:
            return await context.asker.ask(prompt, role="coder", name="write", node=node)

        brief = replace(assignment.brief, results=context.results)
        return await write_script(ask, brief, assignment.attempts, budget, assignment.known)


async def run_script(
    context: RunContext,
    node: int,
    script: Script,
    best: float | None,
    limits: Limits | None = None,
    compared: int | None = None,
    begun: datetime | None = None,
) -> None:
    """Run a script as a node: on the sample view first where its limits say so, then on the hold-out view.

    Args:
        context: the run.
        node: the node.
        script: its script.
        best: how long the best node's hold-out run took; None without one.
        limits: what its prompt promised; None: it is the safe baseline, which has no debug run, and is run however little
            time is left.
        compared: the node that it is compared with, for its gain.
        begun: when the work on it began; None: when the node was made.

    Raises:
        BudgetExceeded: no time is left for a run that could still be handed in.
        InfrastructureFailure: our own machinery failed.
    """
    with context.store.write() as tx:
        update_node(tx, context.run_id, node, plan=script.plan, code=script.code)
    if limits is not None and limits.debug is not None:
        tried = await context.executor.execute(node, script.code, DEBUG, limits.debug)
        if tried.fault is not None and not _doubtful(context, node, tried.fault):
            _end(context, node, tried, begun)
            return
    seconds = _limit(context, best, limits)
    done = await context.executor.execute(node, script.code, "holdout", seconds)
    if done.score is not None and context.executor.self_reported is None:
        share = min(NOISE_SECONDS, NOISE_SHARE * context.budget.seconds)
        await context.steps.once(NOISE_STEP, lambda: context.executor.noise(node, compared, share), node=node)
    _end(context, node, done, begun)


def _limit(context: RunContext, best: float | None, limits: Limits | None) -> float:
    """Return the time limit of a hold-out run: the promised one, if at least half of it is left beside a refit."""
    if limits is None:
        return context.budget.baseline_seconds()
    room = context.budget.left() - REFIT_FACTOR * (best or 0.0)
    if room < SHORTEST_PROMISE * limits.seconds:
        raise BudgetExceeded("no time is left for another execution")
    return min(limits.seconds, room)


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


def _end(context: RunContext, node: int, done: Executed, begun: datetime | None) -> None:
    score = done.score if done.view == "holdout" else None
    status: NodeStatus = "buggy" if score is None else "valid"
    by_itself = context.executor.self_reported is not None
    with context.store.write() as tx:
        end_node(tx, context.run_id, node, status, score=score, error=done.error, self_reported=by_itself, since=begun)


def best_seconds(context: RunContext, tree: Tree) -> float | None:
    """Return how long the best node's hold-out run took, or None without one."""
    best = tree.best()
    return None if best is None else holdout_seconds(context, best.id)
