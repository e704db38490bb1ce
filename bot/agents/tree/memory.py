"""The memory of a tree search: its earlier scripts and their results, each reviewed once by a model."""

import asyncio
from collections import defaultdict

from bot.coder.prompts import ReviewRun
from bot.engine.attempts import attempt
from bot.engine.context import RunContext
from bot.engine.tree import Tree
from state.errors import ModelRefused

MEMORY_NODES = 100
"""Nodes that the memory lists, the best by their scores."""


class Memory:
    """Reviews of ended nodes, and the text that shows them."""

    def __init__(self, context: RunContext, role: str) -> None:
        """Remember the nodes of a run."""
        self._context = context
        self._role = role
        self._reviews: dict[int, str] = {}
        self._reviewing: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        """Each node's review is requested once; other slots wait for it."""

    async def text(self, tree: Tree) -> str:
        """Return design, findings and score of the valid nodes, the oldest first, without the engine's baseline."""
        nodes = (node for node in tree.valid() if not node.baseline)
        best = sorted(nodes, key=lambda node: (-node.fitness, node.id))[:MEMORY_NODES]
        lines = []
        for node in sorted(best, key=lambda node: node.id):
            plan = attempt(self._context, node.id).plan
            findings = await self.review(node.id)
            lines.append(f"- Node {node.id}. Design: {plan}\n  Findings: {findings}\n  Score: {node.score:.6g}")
        return "\n".join(lines)

    async def review(self, node: int) -> str:
        """Return the review of an ended node, requested once; raises as `Asker.ask`, but for a refusal."""
        async with self._reviewing[node]:
            if node not in self._reviews:
                prompt = ReviewRun(self._context.task, attempt(self._context, node))
                try:
                    answer = await self._context.asker.ask(prompt, role=self._role, name="review", node=node)
                    self._reviews[node] = answer.summary
                except ModelRefused:
                    self._reviews[node] = "(not reviewed)"
        return self._reviews[node]
