"""Knowledge: the ideas and reports of a run, and the posts they come from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlmodel import select

from bot.community.ideas.evidence import BASES, Evidence, pool_evidence
from bot.execution.folder import lower_is_better
from state.community import CommunityView, Post
from state.knowledge import drafts, reports
from state.store import Store
from state.tables import Node, Report, Run


@dataclass(frozen=True)
class Source:
    """One source of an idea."""

    item: str
    """Such as `message/233009` or `report/1`."""
    title: str | None
    """None: the post is gone."""
    author: str | None
    url: str | None


@dataclass(frozen=True)
class IdeaShown:
    """One idea of the pool."""

    competition: str
    number: int
    text: str
    support: float
    """0 to 10, as of `bot.community.ideas.evidence`."""
    times_used: int
    """Drafts that use it."""
    gains: tuple[float, ...]
    """Gains that reports have measured for the idea itself; above 0 is better."""
    error: float | None
    """Standard error of the mean of the gains."""
    basis: str
    """What the support rests on, in words."""
    state: str
    """`live`, or `merged`, `split` or `retired`: no longer offered."""
    successors: tuple[int, ...]
    """The ideas that took its place."""
    reason: str
    """Why it was closed."""
    known_at: datetime
    """Since when its sources are known."""
    sources: tuple[Source, ...]


@dataclass(frozen=True)
class ReportShown:
    """What one draft achieved."""

    competition: str
    number: str
    title: str
    score: float | None
    """By validation."""
    node: int | None
    """The best one."""
    action: str | None
    """That node's."""
    draft: str | None
    ideas: tuple[int, ...]
    """The draft's."""
    known_at: datetime
    method: str
    components: tuple[Any, ...]
    numbers: str
    limitations: str
    next_steps: str


def ideas_of(store: Store, run: Run, now: datetime) -> list[IdeaShown]:
    """Return a run's pool of ideas, best supported first, and then those that are offered no more.

    Args:
        store: the daemon's database.
        run: the run.
        now: aware; nothing that became known later is shown.
    """
    pool = pool_evidence(store, run.id, now, lower_is_better=bool(lower_is_better(run.config)))
    pool.sort(key=lambda one: not one.live)
    items = {source for one in pool for source in one.sources if not source.startswith("report/")}
    posts = {post.item: post for post in CommunityView(store, run.competition, now).find(_of_posts(items))}
    titles = {f"report/{one.id}": one.title for one in reports(store, run.id, now)}
    return [_idea(run.competition, one, posts, titles) for one in pool]


def reports_shown(store: Store, run: Run, now: datetime) -> list[ReportShown]:
    """Return a run's reports by number; arguments as of `ideas_of`."""
    used = {draft.id: tuple(draft.idea_ids) for draft in drafts(store, run.id, now)}
    with store.read() as session:
        actions = dict(session.exec(select(Node.id, Node.action).where(Node.run_id == run.id)).all())
    found = [_report(run.competition, one, used, actions) for one in reports(store, run.id, now)]
    return sorted(found, key=lambda one: (len(one.number), one.number))


def _of_posts(items: set[str]) -> Sequence[str]:
    return sorted(item for item in items if item.split("/")[0] in ("topic", "message", "kernel"))


def _idea(competition: str, one: Evidence, posts: Mapping[str, Post], titles: Mapping[str, str]) -> IdeaShown:
    return IdeaShown(
        competition=competition,
        number=one.idea.id,
        text=one.idea.text,
        support=one.support,
        times_used=one.times_used,
        gains=one.gains,
        error=one.error,
        basis=BASES[one.basis],
        state=one.idea.state,
        successors=tuple(one.idea.successors),
        reason=one.idea.reason,
        known_at=one.idea.known_at,
        sources=tuple(_source(item, posts.get(item), titles) for item in one.sources),
    )


def _source(item: str, post: Post | None, titles: Mapping[str, str]) -> Source:
    if post is None:
        return Source(item, titles.get(item), None, None)
    return Source(item, post.title, post.author, post.url)


def _report(
    competition: str, one: Report, used: Mapping[str, tuple[int, ...]], actions: Mapping[int, str]
) -> ReportShown:
    return ReportShown(
        competition=competition,
        number=one.id,
        title=one.title,
        score=one.score,
        node=one.best_node,
        action=None if one.best_node is None else actions.get(one.best_node),
        draft=one.draft_id,
        ideas=used.get(one.draft_id, ()) if one.draft_id is not None else (),
        known_at=one.known_at,
        method=one.method,
        components=tuple(one.components),
        numbers=one.numbers,
        limitations=one.limitations,
        next_steps=one.next_steps,
    )
