"""AIDE: no community; draft, debug and improve by what earlier scripts showed."""

import asyncio
from collections import defaultdict

from bot.coder import Attempt, Brief
from bot.coder.prompts import ReviewRun
from bot.models.quoting import line
from bot.runs.context import RunContext
from bot.strategies import Action, Strategy
from bot.strategies.attempts import BASELINE, attempt
from bot.strategies.playbooks import Assignment, ScriptPlaybook
from bot.strategies.tree import Tree
from bot.strategies.tree_search import TreeSearchPolicy
from state.errors import ModelRefused

MEMORY_NODES = 20
"""Valid nodes that the memory lists, best first: beyond that a prompt grows without telling more."""
_SHOWN_OUTPUT = 800
"""Characters that are shown of what the baseline printed."""

_TASKS = {
    "draft": "Propose a solution that differs from the earlier ones below in its features or its model.",
    "debug": "The script below is broken. Repair it without changing its approach.",
    "improve": "Improve the script below.",
}


class AideBriefing:
    """Draft and improve see plan, review and score of every valid node; debug sees its parent only."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._lines: dict[int, str] = {}
        """What is remembered of each node, which does not change any more."""
        self._reviewing: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        """With several slots the first that needs a node's review asks for it, and the others wait."""

    async def assign(self, action: Action, node: int, tree: Tree) -> Assignment:
        """Return the brief with the memory in it, and the parent as the only feedback."""
        memory = "" if action.kind == "debug" else await self._memory(tree)
        context = self._context
        brief = Brief(
            task=context.task,
            preview=context.preview,
            machine=context.machine,
            title=f"{action.kind.capitalize()} {node}",
            draft=_TASKS[action.kind],
            earlier=memory,
        )
        return Assignment(brief=brief, attempts=tuple(attempt(context, p) for p in action.parents))

    async def _memory(self, tree: Tree) -> str:
        best_first = sorted(tree.valid(), key=lambda n: (-n.fitness, n.id))[:MEMORY_NODES]
        lines = []
        for node in best_first:
            async with self._reviewing[node.id]:
                if node.id not in self._lines:
                    self._lines[node.id] = await self._line(node.id)
            lines.append(self._lines[node.id])
        return "\n".join(lines)

    async def _line(self, node: int) -> str:
        done = attempt(self._context, node)
        return f"- node {node}: {done.plan}\n  {await self._review(done)}"

    async def _review(self, done: Attempt) -> str:
        """Ask once a node; a finished step is not asked again. The baseline's long script is ours: what it printed will do."""
        if done.node == BASELINE:
            return f"It printed at its end: {line(done.output[-_SHOWN_OUTPUT:], _SHOWN_OUTPUT)}"
        prompt = ReviewRun(self._context.task, done, self._context.results)
        try:
            answer = await self._context.asker.ask(prompt, role="reviewer", name="review", node=done.node)
        except ModelRefused:
            return "(not reviewed)"
        return answer.summary

    async def meanwhile(self, tree: Tree) -> None:
        """Do nothing: reviews are written when a prompt needs them."""

    async def finish(self, tree: Tree) -> None:
        """Do nothing: AIDE keeps no reports."""


def aide(context: RunContext) -> Strategy:
    """Return AIDE's policy and playbooks."""
    briefing = AideBriefing(context)
    playbook = ScriptPlaybook(context, briefing)
    policy = TreeSearchPolicy(context.settings.tree_search)
    return Strategy("aide", policy, {"draft": playbook, "debug": playbook, "improve": playbook}, briefing.finish)
