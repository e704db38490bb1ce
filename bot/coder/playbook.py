"""The playbook of draft, debug and improve, which agents share; each briefs the coder in its own way."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from bot.coder.brief import Brief, CoderBudget
from bot.coder.prompts import WriteScript
from bot.engine.attempts import NodeFeedback
from bot.engine.budget import SAMPLE_SHARE, DraftLeft
from bot.engine.context import RunContext
from bot.engine.scripts import LIMITS, ScriptTimeLimits, best_seconds, run_script
from bot.engine.strategy import Action, Script, ScriptKind
from bot.engine.tree import Tree
from bot.models import Item
from state.errors import BudgetExceeded, ModelRefused
from state.progress import end_node, update_node
from state.steps import Key

LONG_RUN_SECONDS = 60.0
"""A debug run on a sample is pointless where the hold-out run may not take longer than this, or the parent's did not."""
SAMPLE_SECONDS = 120.0
SHOWN_ATTEMPTS = 3
"""Earlier scripts of a draft that a prompt shows, whole: the newest. In CoMind's paper the results of the others stay."""


@dataclass(frozen=True)
class Assignment:
    """What the coder gets for one node."""

    brief: Brief
    attempts: tuple[NodeFeedback, ...] = ()
    known_items: tuple[Item, ...] = ()
    draft_left: DraftLeft | None = None
    """Of the node's draft; None: it has none."""
    compared_node: int | None = None
    """The node whose score this one's is compared with; None: its first parent."""
    plan: str | None = None
    """Made before the script, which carries it out; None: the author of the script plans it."""


@dataclass(frozen=True)
class ScriptWriteResult:
    """The result of writing a node's script."""

    script: Script
    tried: bool = False
    """Whether the whole script has run on the sample already."""
    given_up: str | None = None
    """Why it was given up before it was whole, so that it is not run; None: it was not."""


class Briefing(Protocol):
    """An agent's way to turn an action into an assignment."""

    async def assign(self, action: Action, node: int, tree: Tree) -> Assignment:
        """Return the brief and earlier results; may call models (a draft's plan, a review of earlier runs)."""

    async def meanwhile(self, tree: Tree) -> None:
        """Prepare what will be needed later, while a node is worked on; a failure is made up for then."""
        return


class ScriptPlaybook:
    """Has one script written, run and scored."""

    def __init__(self, context: RunContext, briefing: Briefing, *, alone: bool = False) -> None:
        """Have scripts written on a briefing; a coder that works `alone` sees all of its own draft's results and no others."""
        self._context = context
        self._briefing = briefing
        self._alone = alone

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
        # Reading and planning are the round's work, and not counted as this script's.
        start = context.clock.now()
        if assignment.plan is not None:
            with context.store.write() as tx:
                update_node(tx, context.run_id, node, plan=assignment.plan)
        limits = await self._promise(action, node, tree)
        try:
            result = await self.write(assignment, node, tree, limits)
        except ModelRefused as error:
            with context.store.write() as tx:
                end_node(tx, context.run_id, node, "buggy", error=f"no script: {error}", since=start)
            return
        script = result.script
        if result.given_up is not None:
            with context.store.write() as tx:
                update_node(tx, context.run_id, node, plan=script.plan, code=script.code)
                end_node(tx, context.run_id, node, "buggy", error=result.given_up, since=start)
            return
        limits = replace(limits, debug=None) if result.tried else limits
        parents = (assignment.compared_node,) if assignment.compared_node is not None else action.parents
        await run_script(context, node, script, best_seconds(context, tree), limits, next(iter(parents), None), start)

    async def _promise(self, action: Action, node: int, tree: Tree) -> ScriptTimeLimits:
        """Return limits that hold however long the model takes."""
        context = self._context

        async def promise() -> ScriptTimeLimits:
            seconds = context.budget.execution_seconds(best_seconds(context, tree), context.answer_seconds)
            if seconds is None:
                raise BudgetExceeded("no time left for another execution")
            parent_run = context.executor.kept_execution(action.parents[0]) if action.parents else None
            short = seconds <= LONG_RUN_SECONDS or (parent_run is not None and parent_run.seconds < LONG_RUN_SECONDS)
            # A score that the script prints itself needs no debug run: no view is smaller than the data.
            no_sample = short or context.executor.self_reported is not None
            return ScriptTimeLimits(seconds, None if no_sample else min(SAMPLE_SECONDS, seconds * SAMPLE_SHARE))

        return await context.steps.once(LIMITS, promise, Key(node))

    async def write(self, assignment: Assignment, node: int, tree: Tree, limits: ScriptTimeLimits) -> ScriptWriteResult:
        """Have the whole script written at once; an agent that writes otherwise replaces this. Raises as `Asker.ask`."""
        prompt = self.prompt(assignment, self._coder_budget(assignment, tree, limits))
        answer = await self._context.asker.ask(prompt, role="coder", name="write", node=node)
        plan = answer.plan if assignment.plan is None else assignment.plan
        return ScriptWriteResult(Script(plan, answer.code, prompt.action, answer.infer))

    def prompt(self, assignment: Assignment, budget: CoderBudget) -> WriteScript:
        """Return what asks for the whole script; an agent with a prompt of its own replaces this."""
        brief, attempts = assignment.brief, assignment.attempts[0 if self._alone else -SHOWN_ATTEMPTS :]
        return WriteScript(
            task=brief.task,
            preview=brief.preview,
            machine=brief.machine,
            action=action_after(attempts),
            title=brief.title,
            draft=brief.draft,
            codebase=None if attempts else brief.codebase,
            codebase_infer=None if attempts else brief.codebase_infer,
            public=brief.public,
            planned=brief.planned,
            attempts=attempts,
            budget=budget,
            shown_scripts=SHOWN_ATTEMPTS,
            alone=self._alone,
            results=() if self._alone else self._context.results,
            blend=None if self._alone else self._context.blend,
            known_items=assignment.known_items,
        )

    def _coder_budget(self, assignment: Assignment, tree: Tree, limits: ScriptTimeLimits) -> CoderBudget:
        """Return what a prompt says of time and scripts."""
        context = self._context
        remaining = context.budget.remaining(len(tree.nodes), best_seconds(context, tree))
        return CoderBudget(
            execution_seconds=limits.seconds,
            seconds_left=context.budget.seconds_left(),
            # This node counts among the tree's already.
            scripts_left=None if remaining.steps is None else remaining.steps + 1,
            draft=assignment.draft_left,
            debug_seconds=limits.debug,
        )


def action_after(attempts: Sequence[NodeFeedback]) -> ScriptKind:
    """Return what kind of script follows these, oldest first: a first one, a repair of the last one, or an improvement of it."""
    if not attempts:
        return "draft"
    return "debug" if attempts[-1].score is None else "improve"
