"""News: what was posted since is read and turned into ideas, and may start another round of drafts."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.community.ideas.pool import may_propose, propose_news
from bot.community.reading.batches import known_analyses, read_news
from bot.engine.attempts import load_tree
from bot.engine.context import RunContext
from state.steps import Key, StepKind

_STRONG = 8.0
"""Effectiveness, from 0 to 10, at which something read starts another round at once."""


@dataclass(frozen=True)
class NewsLook:
    """What a look found."""

    posts: tuple[str, ...]
    """Items of what was read."""
    strong: bool
    """Whether some of it beats our best score or promises much."""


_NEWS = StepKind("news", NewsLook)


async def take_in_news(context: RunContext, look: int | None = None) -> NewsLook:
    """Read what was posted since the run's first batch of reading, and ask for ideas on it; raises as `Asker.ask`.

    A look has a number, so that a resumed run finds the same; None: the next one, or the one that was interrupted.
    """
    number = max(looks(context), default=-1) + 1 if look is None else look

    read = await read_news(context, number)

    async def find() -> NewsLook:
        return NewsLook(tuple(read), _is_strong(context, read))

    news = await context.steps.once(_NEWS, find, Key(attempt=number))
    if news.posts and may_propose(context):
        await propose_news(context)
    return news


def looks(context: RunContext) -> dict[int, NewsLook]:
    """Return the results of the run's finished looks, by number."""
    return {key.attempt: news for key, news in context.steps.all(_NEWS).items()}


def _is_strong(context: RunContext, read: Sequence[str]) -> bool:
    community, card = context.community, context.card
    top = load_tree(context).best()
    read_posts = community.find(read) if community else []
    scores = [post.public_score for post in read_posts if post.public_score is not None]
    if top is not None and any(card.oriented(score) > top.fitness for score in scores):
        return True
    return any(row.effectiveness >= _STRONG for row in known_analyses(context) if row.id in read)
