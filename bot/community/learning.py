"""Learning: what the community has posted becomes analyses, and in a live run new ideas as soon as it is seen."""

from bot.community.pool import propose_ideas
from bot.community.reading import analyze_posts, worth_reading
from bot.runs.context import RunContext
from state.community import Post
from state.knowledge import analyses

__all__ = ["learn", "learn_news"]


async def learn(context: RunContext) -> int:
    """Analyse the posts that are worth it and were not analysed yet; return how many these were.

    Raises as `Asker.ask`.
    """
    async with context.learning:
        return await _learn(context)


async def learn_news(context: RunContext) -> int:
    """Analyse new posts, and add what they suggest to the pool of ideas; return how many posts these were.

    Whatever keeps it from proposing, the next round of drafts begins with new ideas too. Raises as `Asker.ask`.
    """
    async with context.learning:
        found = await _learn(context)
        if found:
            # Each set of analyses is asked about once, however often the bot is killed.
            await propose_ideas(context, f"propose:news:{len(_analysed(context))}", context.task)
        return found


async def _learn(context: RunContext) -> int:
    new = _unread(context)
    if new:
        context.say(f"reading {len(new)} posts")
        await analyze_posts(context, new)
    return len(new)


def _unread(context: RunContext) -> list[Post]:
    seen, reading = context.community, context.settings.reading
    if seen is None:
        return []
    done, repeats = _analysed(context), seen.repeats()
    best = worth_reading(seen.posts(), reading, context.card.lower_is_better, repeats)
    newest = [post for post in seen.newest(reading.newest) if post.item not in repeats]
    posts = {post.item: post for post in (*best, *newest)}
    return [post for item, post in posts.items() if item not in done]


def _analysed(context: RunContext) -> set[str]:
    rows = analyses(context.store, context.run_id, context.clock.as_of())
    return {f"{row.post_kind}/{row.post_id}" for row in rows}
