"""Reading: which posts to analyse, the prompt for an analysis, and the analyses."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar

from pydantic import BaseModel, Field

from bot.community.settings import ReadingSettings
from bot.engine.context import RunContext
from bot.execution.task import TaskText
from bot.models import Item
from bot.models.parsing import json_answer
from bot.models.template import TemplatePrompt
from state.community import Post, Repeat
from state.errors import ModelRefused
from state.knowledge import add_analysis, analyses
from state.tables import Analysis

_USEFUL = 3.0
"""Effectiveness of an analysis that is shown though it suggests nothing."""
NO_REPEATS: Mapping[str, Repeat] = MappingProxyType({})


class AnalysisAnswer(BaseModel, extra="ignore", frozen=True):
    """What a post suggests, with four scores from 0 to 10."""

    summary: str = Field(max_length=4_000)
    suggestions: tuple[str, ...] = ()
    """Each one self-contained: a technique, with its parameters and measured effect if the post gives them."""
    fails: tuple[str, ...] = ()
    """What it measured to bring nothing."""
    resources: tuple[str, ...] = ()
    novelty: float = Field(ge=0, le=10)
    feasibility: float = Field(ge=0, le=10)
    effectiveness: float = Field(ge=0, le=10)
    efficiency: float = Field(ge=0, le=10)


@dataclass(frozen=True)
class AnalyzePost(TemplatePrompt[AnalysisAnswer]):
    """Ask what one post suggests and how good that is."""

    template: ClassVar[str] = "analyze_post.j2"

    task: TaskText
    post: Post

    def parse(self, text: str) -> AnalysisAnswer:
        """Read the JSON answer."""
        return json_answer(text, AnalysisAnswer)

    def items(self) -> Sequence[Item]:
        """Return the post, and the owner's notes."""
        return (Item(self.post.item, self.post.time), *self.task.items())


class AnalysisText(AnalysisAnswer):
    """An analysis as a prompt shows it."""

    item: Item
    """The post's id, with the analysis' time."""
    title: str
    votes: int | None
    public_score: float | None


async def learn(context: RunContext) -> list[str]:
    """Analyse the chosen posts that were not analysed yet, and return their items; raises as `Asker.ask`."""
    async with context.learning:
        new = _unread(context)
        if new:
            context.say(f"reading {len(new)} posts")
            await _analyze_all(context, new)
        return [post.item for post in new]


async def _analyze_all(context: RunContext, posts: Sequence[Post]) -> None:
    """Analyse posts side by side."""
    task = context.task
    try:
        async with asyncio.TaskGroup() as group:
            for post in posts:
                group.create_task(_analyze(context, task, post))
    except ExceptionGroup as failures:
        # The first failure cancels the other calls, and stops the run or the node.
        raise failures.exceptions[0] from failures


def _unread(context: RunContext) -> list[Post]:
    seen, reading = context.community, context.settings_of(ReadingSettings)
    if seen is None:
        return []
    repeats = seen.repeats()
    read = {original_of(row.id, repeats) for row in known_analyses(context)}
    best = worth_reading(seen.posts(), reading, context.card.lower_is_better, repeats)
    unread: list[Post] = []
    for post in (*best, *seen.newest(reading.newest)):
        # Of near-copies the first to be chosen is read.
        if (original := original_of(post.item, repeats)) not in read:
            read.add(original)
            unread.append(post)
    return unread


def worth_reading(
    posts: Sequence[Post], settings: ReadingSettings, lower_is_better: bool, repeats: Mapping[str, Repeat] = NO_REPEATS
) -> list[Post]:
    """Choose posts: kernels best by score and most voted (half each), then messages by votes; unknown signals come last.

    Of near-copies (`repeats`, by item) only the first is chosen.
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
    """Return the first posts that are no near-copies of taken ones, and take them."""
    chosen: list[Post] = []
    for post in posts:
        original = original_of(post.item, repeats)
        if len(chosen) < count and original not in taken:
            taken.add(original)
            chosen.append(post)
    return chosen


def original_of(item: str, repeats: Mapping[str, Repeat]) -> str:
    """Return the original of a near-copy, itself if it is none."""
    while item in repeats:
        item = repeats[item].original
    return item


def _by_votes(posts: Sequence[Post]) -> list[Post]:
    return sorted(posts, key=lambda p: (-(p.votes if p.votes is not None else -1), p.time, p.id))


async def _analyze(context: RunContext, task: TaskText, post: Post) -> None:
    """Analyse a post, or skip it if the model refuses."""
    prompt = AnalyzePost(task, _shortened(post, context.settings_of(ReadingSettings).post_characters))
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


def _shortened(post: Post, limit: int) -> Post:
    """Cut the middle of a text that is longer than `limit` characters: code reads data first and submits last."""
    if len(post.text) <= limit:
        return post
    half = limit // 2
    left_out = f"[... {len(post.text) - 2 * half} characters cut ...]"
    return replace(post, text=f"{post.text[:half]}\n{left_out}\n{post.text[-half:]}")


def analysis_texts(context: RunContext, only: Collection[str]) -> list[AnalysisText]:
    """Return these analyses for a prompt, the most effective and efficient first."""
    if context.community is None:
        return []
    rows = sorted(
        (row for row in known_analyses(context) if row.id in only),
        key=lambda a: (-(a.effectiveness + 0.5 * a.efficiency), a.id),
    )
    posts = {p.item: p for p in context.community.find(row.id for row in rows)}
    # Analyses of posts that their authors have deleted since are left out, as are those without any use.
    telling = [row for row in rows if row.suggestions or row.fails or row.effectiveness >= _USEFUL]
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
