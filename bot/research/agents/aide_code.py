"""AIDE+Code: each draft is shown one public kernel, the most voted that no draft was shown (arXiv 2506.20640, section 4)."""

import asyncio

from bot.agents.tree.aide import Material, searching
from bot.engine.context import RunContext
from bot.engine.strategy import Action, Strategy
from bot.engine.tree import Tree
from bot.models import Item
from bot.models.quoting import quoted
from scrapers.posts.cleaning import both_ends, without_encoded
from state.community import Post
from state.steps import Key, StepKind

_KERNEL = StepKind("public kernel", str)
"""Steps that choose the item that a draft is shown, empty where all were."""
KERNEL_CHARACTERS = 20_000
"""Of a kernel that a prompt shows; of a longer one its middle is left out, as code reads data first and submits last."""
_HEADING = (
    "A popular public notebook from this competition, not run here; its paths and folds differ. Reuse its good ideas:"
)


class KernelByVotes:
    """Gives each draft a public kernel, in order of votes as of the clock, each kernel once."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._choosing = asyncio.Lock()

    async def read(self, action: Action, node: int, tree: Tree) -> Material:
        """Return a draft's kernel; empty if all were shown, or for another node than a draft."""
        view, steps = self._context.community, self._context.steps
        if view is None or action.kind != "draft":
            return Material()

        async def choose() -> str:
            shown_kernels = {_identity(post) for post in view.find(filter(None, steps.all(_KERNEL).values()))}
            kernels = (post for post in view.posts() if post.kind == "kernel" and _identity(post) not in shown_kernels)
            best = min(kernels, key=lambda post: (-(post.votes or 0), post.time, post.id), default=None)
            return "" if best is None else best.item

        # Numbered by the node, so that of a resumed run each draft has the kernel that it had.
        async with self._choosing:
            item = await steps.once(_KERNEL, choose, Key(node))
        if not item or not (posts := view.find([item])):
            return Material()
        post = posts[0]
        text = both_ends(without_encoded(post.text), KERNEL_CHARACTERS)
        quote = quoted(text, item, kind="kernel", votes=post.votes, public_score=post.public_score, title=post.title)
        return Material(f"{_HEADING}\n{quote}", (Item(item, post.time),))


def _identity(post: Post) -> str:
    """Return what all versions of a kernel share."""
    return post.ref or post.item


def aide_code(context: RunContext) -> Strategy:
    """Return AIDE with a public kernel for each draft."""
    return searching(context, "aide-code", "aide", KernelByVotes(context))
