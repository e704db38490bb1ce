"""News: what has been posted since the last look is read, gives new ideas, and may be worth another round of drafts."""

from collections.abc import Sequence
from typing import Any

from bot.community.pool import not_asked_about, propose_news
from bot.community.reading import learn
from bot.engine.attempts import load_tree
from bot.engine.context import RunContext
from state.tables import Analysis

_STEP = "news"
_STRONG = 8.0
"""Effectiveness, from 0 to 10, from which on a post is worth another round at once."""

Found = dict[str, Any]


async def take_in_news(context: RunContext, look: int | None = None) -> Found:
    """Have new posts analysed and ideas made of them; raises as `Asker.ask`.

    Args:
        context: the run.
        look: number of the look, under which a run that is killed during it finds the same again; None: it need not.

    Returns:
        `posts`: items of the posts that were new; `strong`: whether one of them is better than what we have, or promises
        much.
    """
    read = set(await learn(context))

    async def find() -> Found:
        # What a round of drafts that is being opened has read meanwhile is no news; no numbered look meets one.
        new = [row for row in not_asked_about(context) if look is not None or row.id in read]
        return {"posts": [row.id for row in new], "strong": _is_strong(context, new)}

    found = await find() if look is None else await context.steps.once(_STEP, find, attempt=look)
    if found["posts"]:
        await propose_news(context)
    return found


def looks(context: RunContext) -> dict[int, Found]:
    """Return what the finished looks of the run found, by number."""
    return context.steps.finished(_STEP)


def _is_strong(context: RunContext, new: Sequence[Analysis]) -> bool:
    community, card = context.community, context.card
    top = load_tree(context).best()
    shown = community.find(row.id for row in new) if community else []
    scores = [post.public_score for post in shown if post.public_score is not None]
    if top is not None and any(card.oriented(score) > top.fitness for score in scores):
        return True
    return any(row.effectiveness >= _STRONG for row in new)
