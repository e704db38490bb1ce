"""Knowledge: the ideas and reports of a run, and the posts they come from."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, get_args

from sqlmodel import select

from bot.community.ideas.evidence import BASES, Evidence, pool_evidence
from bot.execution.folder import lower_is_better
from state.community import CommunityView, PostKind
from state.knowledge import drafts, reports
from state.store import Store
from state.tables import Node, Report, Run


@dataclass(frozen=True)
class Source:
    """One source of an idea: a post, or a report of the run itself."""

    item: str
    """Such as `message/233009` or `report/1`."""
    title: str | None = None
    """None: the post is gone."""
    author: str | None = None
    url: str | None = None
    time: datetime | None = None
    version: int | None = None
    """Of a kernel."""

    @property
    def heading(self) -> str:
        """Its title, with the version of a kernel; empty if the post is gone."""
        version = "" if self.version is None else f" (version {self.version})"
        return f"{self.title}{version}" if self.title else ""


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
    path: str
    """The path of strategies that it belongs to; empty: none."""
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
    """Return a run's pool of ideas as known at a time, best supported first, and then those that are offered no more."""
    pool = pool_evidence(store, run.id, now, lower_is_better=bool(lower_is_better(run.config)))
    pool.sort(key=lambda one: not one.live)
    sources = find_sources(store, run.competition, {item for one in pool for item in one.sources}, now)
    for report in reports(store, run.id, now):
        sources[f"report/{report.id}"] = Source(f"report/{report.id}", report.title)
    return [_idea(run.competition, one, sources) for one in pool]


def find_sources(store: Store, competition: str, items: Iterable[str], now: datetime) -> dict[str, Source]:
    """Return what is known of items at a time; of one that is not there, or is no post, only its name."""
    view = CommunityView(store, competition, now)
    posts = view.find(item for item in items if item.partition("/")[0] in get_args(PostKind))
    topics = {one.id: one.url for one in view.find({f"topic/{post.topic_id}" for post in posts if post.topic_id})}
    found = {item: Source(item) for item in items}
    for post in posts:
        url = post.url or topics.get(post.topic_id or "")
        found[post.item] = Source(post.item, post.title, post.author, url, post.time, post.version)
    return found


def reports_shown(store: Store, run: Run, now: datetime) -> list[ReportShown]:
    """Return a run's reports as known at a time, by number."""
    used = {draft.id: tuple(draft.idea_ids) for draft in drafts(store, run.id, now)}
    with store.read() as session:
        actions = dict(session.exec(select(Node.id, Node.action).where(Node.run_id == run.id)).all())
    found = [_report(run.competition, one, used, actions) for one in reports(store, run.id, now)]
    return sorted(found, key=lambda one: (len(one.number), one.number))


def _idea(competition: str, one: Evidence, sources: Mapping[str, Source]) -> IdeaShown:
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
        path=one.idea.path,
        known_at=one.idea.known_at,
        sources=tuple(sources[item] for item in one.sources),
    )


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
