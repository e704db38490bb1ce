"""Learning: what is posted becomes analyses, and new ideas at once where posts come in mid-run."""

from bot.community.pool import not_asked_about, propose_ideas
from bot.community.reading import analyze_posts, known_analyses, worth_reading
from bot.runs.context import RunContext
from state.community import Post

__all__ = ["NEWEST_POSTS", "learn", "propose_news"]

NEWEST_POSTS = 10
"""Newest posts that are analysed at each look where posts come in mid-run, whatever their votes: what is new has none yet."""


async def learn(context: RunContext) -> list[str]:
    """Analyse the posts that are worth it and were not analysed yet; return their items.

    Raises as `Asker.ask`.
    """
    async with context.learning:
        new = _unread(context)
        if new:
            context.say(f"reading {len(new)} posts")
            await analyze_posts(context, new)
        return [post.item for post in new]


async def propose_news(context: RunContext) -> None:
    """Add to the pool of ideas what the analyses suggest of which none were asked for yet.

    Whatever keeps it from proposing, the next round of drafts begins with new ideas too. Raises as `Asker.ask`.
    """
    async with context.learning:
        if not_asked_about(context):
            # Each set of analyses is asked about once, however often the bot is killed.
            await propose_ideas(context, f"propose:news:{len(known_analyses(context))}", context.task)


def _unread(context: RunContext) -> list[Post]:
    seen, reading = context.community, context.settings.reading
    if seen is None:
        return []
    done, repeats = {row.id for row in known_analyses(context)}, seen.repeats()
    best = worth_reading(seen.posts(), reading, context.card.lower_is_better, repeats)
    newest = [post for post in seen.newest(reading.newest) if post.item not in repeats]
    posts = {post.item: post for post in (*best, *newest)}
    return [post for item, post in posts.items() if item not in done]
