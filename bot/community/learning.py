"""Learning: what is posted becomes analyses, and new ideas at once where posts come in mid-run."""

from bot.community.pool import not_asked_about, propose_ideas
from bot.community.reading import analyze_posts, known_analyses, original_of, worth_reading
from bot.community.settings import ReadingSettings
from bot.engine.context import RunContext
from state.posts import Post

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
    seen, reading = context.community, context.settings_of(ReadingSettings)
    if seen is None:
        return []
    repeats = seen.repeats()
    read = {original_of(row.id, repeats) for row in known_analyses(context)}
    best = worth_reading(seen.posts(), reading, context.card.lower_is_better, repeats)
    unread: list[Post] = []
    for post in (*best, *seen.newest(reading.newest)):
        # Of posts that repeat one another one is read, whichever came first to be worth it.
        if (original := original_of(post.item, repeats)) not in read:
            read.add(original)
            unread.append(post)
    return unread
