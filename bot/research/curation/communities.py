"""Communities to draw tricks from: a snapshot's, an MLE-Live folder's, or what the live bot has collected."""

import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlmodel import select

from bot.execution.task import shown_description
from bot.research.importers.mle_live.community import KERNELS_FOLDER, CommunityWriter
from bot.research.importers.mle_live.folders import find_competitions
from bot.research.importers.mle_live.info import ReasonCounter, read_info
from scrapers.posts.cleaners import Cleaners
from scrapers.posts.ingest import ingest
from scrapers.snapshots.card import Direction, TaskCard
from scrapers.snapshots.check import has_task
from scrapers.snapshots.community import Community, read_community
from scrapers.snapshots.manifest import MANIFEST
from scrapers.snapshots.problems import Problems
from scrapers.snapshots.snapshot import Snapshot
from state.clock import Clock
from state.community import CommunityView
from state.errors import UsageError
from state.live import live_runs
from state.store import Store
from state.tables import KernelVersion, Topic


@dataclass(frozen=True)
class PastCompetition:
    """A competition, and all that was posted on it up to now."""

    slug: str
    title: str
    description: str
    metric: str
    """Its metric with the direction; empty if unknown."""
    lower_is_better: bool
    end: datetime
    """Its deadline; if that is unknown, the time of the latest post."""
    posts: CommunityView
    origin: str
    """The source of its posts."""


@asynccontextmanager
async def open_communities(
    path: Path, clock: Clock, metrics: Mapping[str, Direction], say: Callable[[str], None]
) -> AsyncIterator[list[PastCompetition]]:
    """Read the competitions at a path, and close them afterwards.

    The path is a snapshot, an MLE-Live folder (of one or many competitions), or the live bot's bot.db, which is only read.
    What has no time is never read.

    Raises:
        UsageError: it is none of these.
        SnapshotError: it is a snapshot that breaks its format.
    """
    if path.is_file():
        with Store.open_to_read(path, clock) as store:
            yield _collected(store, clock, path)
        return
    with (
        tempfile.TemporaryDirectory(prefix="knowledge-") as folder,
        Store.open(Path(folder) / "posts.db", clock) as store,
    ):
        async with Cleaners() as cleaners:
            if (path / MANIFEST).is_file():
                snapshot = Snapshot.load(path, metrics, community_only=not has_task(path))
                card = snapshot.card
                await ingest(store, card.slug, snapshot.community.posts(path, card.slug), cleaners)
                competitions = [_of_card(card, CommunityView(store, card.slug, clock.as_of()), path)]
            else:
                competitions = [
                    await _mle_live(c.slug, c.community, store, cleaners, Path(folder) / c.slug, clock, say)
                    for c in find_competitions(path)
                    if c.community is not None
                ]
        if not competitions:
            raise UsageError(f"{path} is not a snapshot, an MLE-Live folder or a bot database")
        yield competitions


def _of_card(card: TaskCard, posts: CommunityView, path: Path) -> PastCompetition:
    metric = f"{card.metric.name} ({card.metric.direction})"
    description = shown_description(card.description)
    lower = card.lower_is_better
    return PastCompetition(card.slug, card.title, description, metric, lower, card.deadline, posts, path.name)


def _collected(store: Store, clock: Clock, path: Path) -> list[PastCompetition]:
    """Return the competitions of the live bot; their tasks are those of its runs."""
    with store.read() as session:
        slugs = {*session.exec(select(Topic.competition)), *session.exec(select(KernelVersion.competition))}
        cards = {run.competition: run.config.get("card") for run in live_runs(session)}
    competitions = []
    for slug in sorted(slugs):
        posts = CommunityView(store, slug, clock.as_of())
        if cards.get(slug):
            competitions.append(_of_card(TaskCard.model_validate(cards[slug]), posts, path))
        else:
            competitions.append(PastCompetition(slug, slug, "", "", False, _latest(posts), posts, path.name))
    return competitions


async def _mle_live(
    slug: str, source: Path, store: Store, cleaners: Cleaners, target: Path, clock: Clock, say: Callable[[str], None]
) -> PastCompetition:
    target.mkdir(parents=True)
    counts = CommunityWriter(source, target, slug, None).write(False, lambda count: None)
    undated = counts.undated.topics + counts.undated.kernels
    if undated:
        say(f"{slug}: skipped {undated} discussions and notebooks that have no date")
    community: Community = read_community(target, Problems())
    await ingest(store, slug, community.posts(target, slug), cleaners)
    text = next((f for f in (source, source.parent) if (f / "description.md").is_file()), None)
    description = "" if text is None else (text / "description.md").read_text(encoding="utf-8", errors="replace")
    posts = CommunityView(store, slug, clock.as_of())
    lower = _lower_is_better(source)
    return PastCompetition(slug, slug, shown_description(description), "", lower, _latest(posts), posts, source.name)


def _latest(posts: CommunityView) -> datetime:
    return max((post.time for post in posts.newest(1)), default=posts.as_of)


def _lower_is_better(source: Path) -> bool:
    folder = source / KERNELS_FOLDER
    if not folder.is_dir():
        return False
    entries = read_info(folder, KERNELS_FOLDER, ReasonCounter(), ReasonCounter(), ReasonCounter())
    return any(entry.lower_is_better for entry in entries.values())
