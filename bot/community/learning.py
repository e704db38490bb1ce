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
    new = _unread(context)
    if new:
        context.say(f"reading {len(new)} posts")
        await analyze_posts(context, new)
    return len(new)


async def learn_news(context: RunContext) -> int:
    """Analyse new posts, and add what they suggest to the pool of ideas; return how many posts these were.

    Asked for again with nothing new, it does nothing. Raises as `Asker.ask`.
    """
    before = len(_analysed(context))
    found = await learn(context)
    # Named by how many analyses there are, so that a restart in between asks once more for the same, not for another.
    if (known := len(_analysed(context))) > before or (known and not _proposed(context, known)):
        await propose_ideas(context, f"propose:news:{known}", context.task)
    return found


def _unread(context: RunContext) -> list[Post]:
    seen, reading = context.community, context.settings.reading
    if seen is None:
        return []
    done = _analysed(context)
    posts = worth_reading(seen.posts(), reading, context.card.lower_is_better, seen.repeats())
    return [post for post in posts if post.item not in done]


def _analysed(context: RunContext) -> set[str]:
    rows = analyses(context.store, context.run_id, context.clock.as_of())
    return {f"{row.post_kind}/{row.post_id}" for row in rows}


def _proposed(context: RunContext, known: int) -> bool:
    return context.steps.finished(f"propose:news:{known}")
