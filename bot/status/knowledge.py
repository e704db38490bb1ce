"""Knowledge: the ideas of a run with their evidence, and the posts that they come from."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import get_args

from bot.community.ideas.evidence import IdeaEvidence, pool_evidence
from bot.engine.run_record import RunRecord
from state.community import CommunityView, PostKind
from state.store import Store


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

    @property
    def heading(self) -> str:
        """Its title, with the version of a kernel; empty if the post is gone."""
        version = "" if self.version is None else f" (version {self.version})"
        return f"{self.title}{version}" if self.title else ""


def read_ideas(store: Store, run: RunRecord, as_of: datetime) -> tuple[list[IdeaEvidence], dict[str, Source]]:
    """Return a run's ideas, best supported first and those that are offered no more last, and their sources by item."""
    pool = sorted(pool_evidence(run), key=lambda evidence: not evidence.live)
    sources = find_sources(store, run.row.competition, {item for evidence in pool for item in evidence.sources}, as_of)
    for report in run.reports:
        sources[f"report/{report.id}"] = Source(f"report/{report.id}", report.title)
    return pool, sources


def find_sources(store: Store, competition: str, items: Iterable[str], as_of: datetime) -> dict[str, Source]:
    """Return what is known of items at a time; of one that is not there, or is no post, only its name."""
    view = CommunityView(store, competition, as_of)
    posts = view.find(item for item in items if item.partition("/")[0] in get_args(PostKind))
    topics = {topic.id: topic.url for topic in view.find({f"topic/{post.topic_id}" for post in posts if post.topic_id})}
    sources = {item: Source(item) for item in items}
    for post in posts:
        url = post.url or topics.get(post.topic_id or "")
        sources[post.item] = Source(post.item, post.title, post.author, url, post.time, post.version)
    return sources
