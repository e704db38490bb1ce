"""AIDE: no community; draft, debug and improve by what earlier scripts showed."""

import asyncio
from collections import defaultdict

from bot.agents.tree.policy import TreeSearchPolicy, TreeSearchSettings
from bot.coder.brief import Brief
from bot.coder.playbook import Assignment, ScriptPlaybook
from bot.coder.prompts import ReviewRun
from bot.engine.attempts import Attempt, attempt
from bot.engine.context import RunContext
from bot.engine.strategy import Action, Strategy
from bot.engine.tree import BASELINE, Tree
from bot.models.quoting import line, quoted
from state.errors import ModelRefused

MEMORY_NODES = 20
"""Valid nodes that the memory lists, best first."""
_SHOWN_FAILURES = 2
"""Failed scripts that the memory adds, the newest: their output shows how far a good idea got."""
_SHOWN_OUTPUT = 1_500
"""Characters shown of the end of a failed script's output."""

_TASKS = {
    "draft": "Propose a solution that differs from the earlier ones below in its features or its model. "
    "One that only ran out of time may be made to fit instead.",
    "debug": "The script below is broken. Repair it without changing its approach.",
    "improve": "Improve the script below.",
}


class AideBriefing:
    """Draft and improve see plan, review and score of every valid node; debug sees its parent only."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._lines: dict[int, str] = {}
        """The memory's text for each ended node."""
        self._reviewing: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        """Of several slots the first that needs a node's review asks for it; the others wait."""

    async def assign(self, action: Action, node: int, tree: Tree) -> Assignment:
        """Return the brief with the memory, and the parent as the only earlier script."""
        memory = "" if action.kind == "debug" else await self._memory(tree, failures=action.kind == "draft")
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

    async def _memory(self, tree: Tree, *, failures: bool) -> str:
        best_first = sorted(tree.valid(), key=lambda n: (-n.fitness, n.id))[:MEMORY_NODES]
        lines = []
        for node in best_first:
            async with self._reviewing[node.id]:
                if node.id not in self._lines:
                    self._lines[node.id] = await self._line(node.id)
            lines.append(self._lines[node.id])
        if failures:
            lines += [self._failure(n.id) for n in [n for n in tree.nodes if n.buggy][-_SHOWN_FAILURES:]]
        return "\n".join(lines)

    def _failure(self, node: int) -> str:
        done = attempt(self._context, node)
        printed = quoted(done.output[-_SHOWN_OUTPUT:], f"node/{node}", kind="output")
        error = line(done.error or "", 1_000)
        return f"- node {node}, without a score: {done.plan}\n  {error}. It printed at its end:\n{printed}"

    async def _line(self, node: int) -> str:
        done = attempt(self._context, node)
        return f"- node {node}: {done.plan}\n  {await self._review(done)}"

    async def _review(self, done: Attempt) -> str:
        """Ask for a node's review, once; not for the baseline, whose script is ours."""
        if done.node == BASELINE:
            return "It was written for any kind of data, before anything was known of this task: something to beat."
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
    policy = TreeSearchPolicy(context.settings_of(TreeSearchSettings))
    return Strategy("aide", policy, {"draft": playbook, "debug": playbook, "improve": playbook}, briefing.finish)
