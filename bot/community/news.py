"""News: posts since the last look are analysed and turned into ideas, and may start another round of drafts."""

from collections.abc import Sequence
from typing import Any

from bot.community.idea_pool import not_asked_about, propose_news
from bot.community.reading import learn
from bot.engine.attempts import load_tree
from bot.engine.context import RunContext
from state.tables import Analysis

_STEP = "news"
_STRONG = 8.0
"""Effectiveness, from 0 to 10, at which a post starts another round at once."""

Found = dict[str, Any]


async def take_in_news(context: RunContext, look: int | None = None) -> Found:
    """Analyse new posts and ask for ideas on them; raises as `Asker.ask`.

    Args:
        context: the run.
        look: number of the look, so that a resumed run finds the same; None: not numbered.

    Returns:
        `posts`: the new posts' items; `strong`: whether one of them beats our best score or promises much.
    """
    read = set(await learn(context))

    async def find() -> Found:
        # A round of drafts that opens meanwhile reads posts too, which are no news; it never meets a numbered look.
        new = [row for row in not_asked_about(context) if look is not None or row.id in read]
        return {"posts": [row.id for row in new], "strong": _is_strong(context, new)}

    found = await find() if look is None else await context.steps.once(_STEP, find, attempt=look)
    if found["posts"]:
        await propose_news(context)
    return found


def looks(context: RunContext) -> dict[int, Found]:
    """Return the results of the run's finished looks, by number."""
    return context.steps.finished(_STEP)


def _is_strong(context: RunContext, new: Sequence[Analysis]) -> bool:
    community, card = context.community, context.card
    top = load_tree(context).best()
    shown = community.find(row.id for row in new) if community else []
    scores = [post.public_score for post in shown if post.public_score is not None]
    if top is not None and any(card.oriented(score) > top.fitness for score in scores):
        return True
    return any(row.effectiveness >= _STRONG for row in new)
