"""News: what was posted since is read and turned into ideas, and may start another round of drafts."""

from collections.abc import Sequence
from typing import Any

from bot.community.ideas.pool import propose_news
from bot.community.reading.batches import known_analyses, read_news
from bot.engine.attempts import load_tree
from bot.engine.context import RunContext

_STEP = "news"
_STRONG = 8.0
"""Effectiveness, from 0 to 10, at which something read starts another round at once."""

Found = dict[str, Any]


async def take_in_news(context: RunContext, look: int | None = None) -> Found:
    """Read what was posted since the run's first batch of reading, and ask for ideas on it; raises as `Asker.ask`.

    Args:
        context: the run.
        look: number of the look, so that a resumed run finds the same; None: the next one, or the one that was interrupted.

    Returns:
        `posts`: the items of what was read; `strong`: whether some of it beats our best score or promises much.
    """
    number = max(looks(context), default=-1) + 1 if look is None else look

    read = await read_news(context, number)

    async def find() -> Found:
        return {"posts": read, "strong": _is_strong(context, read)}

    found = await context.steps.once(_STEP, find, attempt=number)
    if found["posts"]:
        await propose_news(context)
    return found


def looks(context: RunContext) -> dict[int, Found]:
    """Return the results of the run's finished looks, by number."""
    return context.steps.finished(_STEP)


def _is_strong(context: RunContext, read: Sequence[str]) -> bool:
    community, card = context.community, context.card
    top = load_tree(context).best()
    shown = community.find(read) if community else []
    scores = [post.public_score for post in shown if post.public_score is not None]
    if top is not None and any(card.oriented(score) > top.fitness for score in scores):
        return True
    return any(row.effectiveness >= _STRONG for row in known_analyses(context) if row.id in read)
