"""News: new posts are read and turned into ideas, and may start another round of drafts."""

from dataclasses import dataclass

from bot.community.ideas.pool import may_propose, propose_news
from bot.community.reading.batches import known_analyses, read_news
from bot.engine.attempts import load_tree
from bot.engine.context import RunContext
from state.steps import Key, StepKind

_STRONG = 8.0
"""Effectiveness, from 0 to 10, from which a post starts another round at once."""


@dataclass(frozen=True)
class NewsLook:
    """What a check for news found."""

    posts: tuple[str, ...]
    """Items of the posts that were read."""
    strong: bool
    """Whether one of them beats our best score or promises much."""


_NEWS = StepKind("news", NewsLook)


async def take_in_news(context: RunContext, look: int | None = None) -> NewsLook:
    """Read what was posted since the run's first batch of reading, and ask for ideas on it; raises as `Asker.ask`.

    A check has a number, so that a resumed run finds the same; None: the next one, or the one that was interrupted.
    """
    number = max(looks(context), default=-1) + 1 if look is None else look
    items = await read_news(context, number)

    async def find() -> NewsLook:
        top, posts = load_tree(context).best(), context.community.find(items) if context.community else []
        scores = [post.public_score for post in posts if post.public_score is not None]
        beats_best = top is not None and any(context.card.oriented(score) > top.fitness for score in scores)
        promises = any(row.effectiveness >= _STRONG for row in known_analyses(context) if row.id in items)
        return NewsLook(tuple(items), beats_best or promises)

    news = await context.steps.once(_NEWS, find, Key(attempt=number))
    if news.posts and may_propose(context):
        await propose_news(context)
    return news


def looks(context: RunContext) -> dict[int, NewsLook]:
    """Return the results of the run's finished checks for news, by number."""
    return {key.attempt: news for key, news in context.steps.all(_NEWS).items()}
