"""Reading: which posts are worth an analysis, and their analyses."""

import asyncio
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from bot.community.prompts import AnalysisAnswer, AnalysisText, AnalyzePost, PostText
from bot.community.settings import ReadingSettings
from bot.engine.context import RunContext
from bot.execution.task import TaskText
from bot.models import Item
from state.community import Repeat
from state.errors import ModelRefused
from state.knowledge import add_analysis, analyses
from state.posts import Post
from state.tables import Analysis

_USEFUL = 3.0
"""Effectiveness of an analysis that is shown though it suggests nothing."""
NO_REPEATS: Mapping[str, Repeat] = MappingProxyType({})


def worth_reading(
    posts: Sequence[Post], settings: ReadingSettings, lower_is_better: bool, repeats: Mapping[str, Repeat] = NO_REPEATS
) -> list[Post]:
    """Choose posts: kernels best by score and most voted (half each), then messages by votes; unknown signals come last.

    Of posts that repeat one another, as far as `repeats` tells by item, the first to be chosen stands for all.
    """
    kernels = [p for p in posts if p.kind == "kernel"]
    sign = 1 if lower_is_better else -1
    scored = sorted(
        (p for p in kernels if p.public_score is not None), key=lambda p: (sign * (p.public_score or 0.0), p.id)
    )
    taken: set[str] = set()
    chosen = _first(scored, (settings.kernels + 1) // 2, repeats, taken)
    chosen += _first(_by_votes(kernels), settings.kernels - len(chosen), repeats, taken)
    return chosen + _first(_by_votes([p for p in posts if p.kind == "message"]), settings.messages, repeats, taken)


def _first(posts: Sequence[Post], count: int, repeats: Mapping[str, Repeat], taken: set[str]) -> list[Post]:
    """Return the first posts that do not repeat what is taken, and take them."""
    chosen: list[Post] = []
    for post in posts:
        original = original_of(post.item, repeats)
        if len(chosen) < count and original not in taken:
            taken.add(original)
            chosen.append(post)
    return chosen


def original_of(item: str, repeats: Mapping[str, Repeat]) -> str:
    """Return the item that a post repeats in the end, itself if none."""
    while item in repeats:
        item = repeats[item].original
    return item


def _by_votes(posts: Sequence[Post]) -> list[Post]:
    return sorted(posts, key=lambda p: (-(p.votes if p.votes is not None else -1), p.time, p.id))


async def analyze_posts(context: RunContext, posts: Sequence[Post]) -> None:
    """Analyse posts that this run has not analysed yet, side by side; a post that a model refuses is passed over."""
    done = {f"{a.post_kind}/{a.post_id}" for a in known_analyses(context)}
    task = context.task

    try:
        async with asyncio.TaskGroup() as group:
            for post in posts:
                if post.item not in done:
                    group.create_task(_analyze(context, task, post))
    except ExceptionGroup as failures:
        # What stopped the first call stops the run, or the node; the others were cancelled.
        raise failures.exceptions[0] from failures


async def _analyze(context: RunContext, task: TaskText, post: Post) -> None:
    prompt = AnalyzePost(task, post_text(post, context.settings_of(ReadingSettings).post_characters))
    try:
        answer = await context.asker.ask(prompt, role="analyst", name=f"analyze:{post.item}")
    except ModelRefused as error:
        context.say(f"{post.item} was not analysed: {error}")
        return
    with context.store.write() as tx:
        add_analysis(
            tx,
            context.run_id,
            post.item,
            post_kind=post.kind,
            post_id=post.id,
            known_at=post.time,
            **answer.model_dump(),
        )


def post_text(post: Post, limit: int) -> PostText:
    """Show a post, its middle cut where it is longer than `limit` characters: code reads data first and submits last."""
    body = post.text
    if len(body) > limit:
        half = limit // 2
        body = f"{body[:half]}\n[... {len(body) - 2 * half} characters cut ...]\n{body[-half:]}"
    return PostText(
        item=Item(post.item, post.time),
        kind=post.kind,
        title=post.title,
        tier=post.tier,
        votes=post.votes,
        public_score=post.public_score,
        language=post.language,
        body=body,
    )


def analysis_texts(context: RunContext) -> list[AnalysisText]:
    """Return the run's analyses for a prompt, the most effective and efficient first."""
    if context.community is None:
        return []
    rows = sorted(known_analyses(context), key=lambda a: (-(a.effectiveness + 0.5 * a.efficiency), a.id))
    posts = {p.item: p for p in context.community.find(row.id for row in rows)}
    # What its author has deleted since is not shown any more, nor is what we made of it.
    # A post that suggests nothing and is of no use has nothing to be proposed from.
    telling = [row for row in rows if row.suggestions or row.effectiveness >= _USEFUL]
    shown = [row for row in telling if row.id in posts][: context.settings_of(ReadingSettings).shown_analyses]
    return [_analysis_text(row, posts[row.id]) for row in shown]


def _analysis_text(row: Analysis, post: Post) -> AnalysisText:
    return AnalysisText(
        item=Item(row.id, row.known_at),
        title=post.title,
        votes=post.votes,
        public_score=post.public_score,
        **row.model_dump(include=set(AnalysisAnswer.model_fields)),
    )


def known_analyses(context: RunContext) -> list[Analysis]:
    """Return the run's analyses that are known now, by id."""
    return analyses(context.store, context.run_id, context.clock.as_of())
