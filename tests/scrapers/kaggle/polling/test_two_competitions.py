"""Both competitions of one site read by one poller into one database: of each exactly what its snapshot has by then."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from sqlmodel import select

from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.rehearsal.app import App
from bot.rehearsal.settings import SiteSettings
from bot.rehearsal.site import Site
from bot.rehearsal.time_shift import align_starts
from scrapers.kaggle.client import KaggleClient
from scrapers.kaggle.credentials import Credentials
from scrapers.kaggle.polling.poller import Poller
from scrapers.kaggle.polling.watch import Part
from scrapers.kaggle.settings import KaggleSection, Pace
from scrapers.posts.cleaners import Cleaners
from scrapers.posts.cleaning import readable
from scrapers.snapshots.snapshot import Snapshot
from state.polling import RequestMeter
from state.store import Store
from state.tables import KernelVersion, Message, PolledTopic, Topic
from tests import needs
from tests.bot.rehearsal.parts import both
from tests.scrapers.kaggle.parts import SetClock

AFTERWARDS = timedelta(days=3)
AT_ONCE = Pace(per_minute=1e6, burst=1000, per_day=10_000_000, apart=0.0)
POSTS: tuple[Part, ...] = ("topics", "messages", "kernels", "sources")
Rows = dict[str, Counter[tuple[Any, ...]]]


def visible(snapshot: Snapshot, now: datetime) -> Rows:
    """Return what a snapshot's rows say is there at a time: topics, messages, kernel versions."""
    community = snapshot.community
    topics = {row.id: row for row in community.topics if row.posted_at and row.posted_at <= now}
    return {
        "topics": Counter((row.title, row.author, row.posted_at) for row in topics.values()),
        "messages": Counter(
            (topics[row.topic_id].title, row.author, row.posted_at, readable(row.markdown or ""))
            for row in community.messages
            if row.topic_id in topics and not row.deleted
            if row.posted_at and max(row.posted_at, row.edited_at or row.posted_at) <= now
        ),
        "versions": Counter(
            (row.title, row.author, row.version, row.created_at)
            for row in community.kernels
            if row.created_at and row.created_at <= now
        ),
    }


def stored(store: Store, slug: str) -> Rows:
    """Return what is stored of a competition, in the same shape."""
    with store.read() as session:
        topics = {row.id: row for row in session.exec(select(Topic).where(Topic.competition == slug))}
        messages = session.exec(select(Message).where(Message.competition == slug)).all()
        versions = session.exec(select(KernelVersion).where(KernelVersion.competition == slug)).all()
    return {
        "topics": Counter((row.title, row.author, row.posted_at) for row in topics.values()),
        "messages": Counter(
            (topics[row.topic_id].title, row.author, row.posted_at, row.markdown) for row in messages if not row.deleted
        ),
        "versions": Counter((row.title, row.author, row.version, row.created_at) for row in versions),
    }


def moments(snapshots: Sequence[Snapshot], end: datetime) -> Iterator[datetime]:
    """Yield a second after each time at which something appears, and the end."""
    times: set[datetime] = set()
    for snapshot in snapshots:
        community = snapshot.community
        times |= {time for row in (*community.topics, *community.messages) if (time := row.posted_at)}
        times |= {time for row in community.messages if (time := row.edited_at)}
        times |= {time for row in community.kernels if (time := row.created_at)}
    yield from (time + timedelta(seconds=1) for time in sorted(times) if time < end)
    yield end


async def watch(snapshots: Sequence[Snapshot], store: Store) -> None:
    """Let one poller read both whenever something appears, and compare in the middle and at the end."""
    clock, key = store.clock, Credentials("KGAT_rehearsal")
    assert isinstance(clock, SetClock)
    site = Site(snapshots, clock, SiteSettings(raw_markdown=1.0))
    end = site.last_deadline + AFTERWARDS
    times = list(moments(snapshots, end))
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(App(site))) as http, Cleaners() as cleaners:
        client = KaggleClient(
            http, lambda: key, clock, RequestMeter(store), KaggleSection(url="http://localhost/v1", pace=AT_ONCE)
        )
        poller = Poller(client, store, cleaners)
        for turn, time in enumerate(times):
            clock.time = time
            compared = turn in (len(times) // 2, len(times) - 1)
            for snapshot in snapshots:
                slug = snapshot.card.slug
                for part in POSTS:
                    await poller.poll(slug, part)
                if compared:
                    assert not (await poller.cycle(slug, everything=True)).failed
                    assert stored(store, slug) == visible(snapshot, clock.now())
    site.close()
    with store.read() as session:
        ids = [row.id for row in session.exec(select(PolledTopic))]
    assert len(ids) == len(set(ids)) == sum(len(visible(snapshot, end)["topics"]) for snapshot in snapshots)


@pytest.mark.integration
async def test_two_small_competitions_with_the_same_ids_are_read_apart(store: Store, tmp_path: Path) -> None:
    await watch(both(tmp_path), store)


@pytest.mark.integration
async def test_two_real_competitions_of_different_months_are_read_apart(store: Store) -> None:
    names = ("spooky-author-identification", "nomad2018-predict-transparent-conductors")
    paths = [needs.snapshots() / name for name in names]
    for path in paths:
        if not path.is_dir():
            needs.missing(f"the folder of snapshots has no {path.name}")
    await watch(align_starts([Snapshot.load(path, METRIC_DIRECTIONS) for path in paths]), store)
