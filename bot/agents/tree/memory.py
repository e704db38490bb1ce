"""The memory of a tree search: what earlier scripts were and came to, each reviewed once by a model."""

import asyncio
from collections import defaultdict

from bot.coder.prompts import ReviewRun
from bot.engine.attempts import NodeFeedback, attempt
from bot.engine.context import RunContext
from bot.engine.tree import BASELINE, Tree
from bot.models.quoting import line, quoted
from state.errors import ModelRefused

MEMORY_NODES = 20
"""Valid nodes that the memory lists, best first."""
_SHOWN_FAILURES = 2
"""Failed scripts that the memory adds, the newest: their output shows how far a good idea got."""
_SHOWN_OUTPUT = 1_500
"""Characters shown of the end of a failed script's output."""


class Memory:
    """Reviews of ended nodes, and the text that shows them."""

    def __init__(self, context: RunContext, role: str) -> None:
        """Remember the nodes of a run."""
        self._context = context
        self._role = role
        self._reviews: dict[int, str] = {}
        self._reviewing: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        """Of several slots the first that needs a node's review asks for it; the others wait."""

    async def text(self, tree: Tree, *, failures: bool) -> str:
        """Return plan and review of the valid nodes, the best first, and of the newest failures if wanted."""
        best_first = sorted(tree.valid(), key=lambda n: (-n.fitness, n.id))[:MEMORY_NODES]
        lines = [
            f"- node {n.id}: {attempt(self._context, n.id).plan}\n  Review: {await self.review(n.id)}"
            for n in best_first
        ]
        if failures:
            lines += [self._failure(n.id) for n in [n for n in tree.nodes if n.buggy][-_SHOWN_FAILURES:]]
        return "\n".join(lines)

    def _failure(self, node: int) -> str:
        record = attempt(self._context, node)
        output = quoted(record.output[-_SHOWN_OUTPUT:], f"node/{node}", kind="output")
        error = line(record.error or "", 1_000)
        return f"- node {node}, without a score: {record.plan}\n  {error}. It printed at its end:\n{output}"

    async def review(self, node: int) -> str:
        """Return the review of an ended node, asked for once; raises as `Asker.ask`, but for a refusal."""
        async with self._reviewing[node]:
            if node not in self._reviews:
                self._reviews[node] = await self._review(attempt(self._context, node))
        return self._reviews[node]

    async def _review(self, record: NodeFeedback) -> str:
        """Ask for a review; not of the baseline, whose script is ours."""
        if record.node == BASELINE:
            return "It was written for any kind of data, before anything was known of this task: something to beat."
        prompt = ReviewRun(self._context.task, record, self._context.results)
        try:
            answer = await self._context.asker.ask(prompt, role=self._role, name="review", node=record.node)
        except ModelRefused:
            return "(not reviewed)"
        return answer.summary
