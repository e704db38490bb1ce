"""Competitions, pages and boards: one reading for each change, and two competitions beside one another."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from sqlmodel import select

from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.simulator.site.app import App
from bot.simulator.site.settings import SiteSettings
from bot.simulator.site.site import Site
from bot.simulator.site.time_shift import align_starts
from scrapers.kaggle.client import KaggleClient
from scrapers.kaggle.credentials import Credentials
from scrapers.kaggle.polling.poller import Poller
from scrapers.kaggle.polling.watch import Part
from scrapers.kaggle.settings import KaggleSection, Pace
from scrapers.posts.cleaners import Cleaners
from scrapers.posts.cleaning import readable
from scrapers.snapshots.snapshot import Snapshot
from state.polling import RequestMeter
from state.series import history, last_reading, rules_hash
from state.store import Store
from state.tables import KernelVersion, PolledTopic, PostedMessage, Topic
from tests import needs
from tests.bot.simulator.site.parts import both
from tests.scrapers.kaggle.parts import SetClock, answer
from tests.scrapers.kaggle.polling.world import SLUG, World


def competition(slug: str, **more: Any) -> dict[str, Any]:
    deadline = {"deadline": "2026-12-31T23:59:00Z", "userHasEntered": True}
    return {"ref": f"https://www.kaggle.com/competitions/{slug}", "title": slug.title(), **deadline, **more}


async def test_a_new_deadline_is_a_change_and_the_old_one_is_kept(world: World, store: Store, poller: Poller) -> None:
    world.competitions = [competition("leaf", teamCount=10), competition("rock")]
    assert (await poller.poll(SLUG, "competitions")).ids("competition new") == ["leaf", "rock"]
    world.competitions[0] |= {"teamCount": 11}
    assert not await poller.poll(SLUG, "competitions")
    world.competitions[0] |= {"deadline": "2027-01-07T23:59:00Z"}
    assert (await poller.poll(SLUG, "competitions")).ids("competition changed") == ["leaf"]
    with store.read() as session:
        kept = [row.data["deadline"] for row in history(session, "leaf", "competition")]
        assert kept == ["2026-12-31T23:59:00Z", "2027-01-07T23:59:00Z"]
        assert [row.data["team_count"] for row in history(session, "leaf", "standing")] == [10, 11]


async def test_a_competition_that_vanished_is_gone_and_may_come_back(world, store, poller) -> None:
    world.competitions = [competition("leaf"), competition("rock")]
    await poller.poll(SLUG, "competitions")
    world.competitions.pop()
    assert (await poller.poll(SLUG, "competitions")).ids("competition gone") == ["rock"]
    world.competitions.append(competition("rock"))
    assert (await poller.poll(SLUG, "competitions")).ids("competition new") == ["rock"]


async def test_another_summary_of_the_data_is_a_change_and_an_empty_one_is_not(world, store, poller) -> None:
    assert (await poller.poll(SLUG, "data")).ids("data changed") == [SLUG]
    assert not await poller.poll(SLUG, "data")
    world.data[".csv"] += 1
    assert await poller.poll(SLUG, "data")
    world.data.clear()
    assert not await poller.poll(SLUG, "data")
    with store.read() as session:
        kept = [row.data["types"] for row in history(session, SLUG, "data")]
    assert kept == [{".csv": [2, 1_000]}, {".csv": [2, 1_001]}]


async def test_a_change_of_the_rules_changes_their_hash_from_then_on(world, store, poller) -> None:
    assert (await poller.poll(SLUG, "pages")).ids("page changed") == ["rules", "evaluation"]
    before, at = rules_hash(store, SLUG, world.clock.now()), world.clock.now()
    assert before is not None
    world.clock.advance(60)
    assert not await poller.poll(SLUG, "pages")
    world.pages["rules"] = "Be very nice."
    assert (await poller.poll(SLUG, "pages")).ids("page changed") == ["rules"]
    assert rules_hash(store, SLUG, world.clock.now()) not in (None, before)
    assert rules_hash(store, SLUG, at) == before
    del world.pages["rules"]
    await poller.poll(SLUG, "pages")
    assert rules_hash(store, SLUG, world.clock.now()) is None


async def test_an_answer_without_any_page_takes_none_away(world: World, store: Store, poller: Poller) -> None:
    await poller.poll(SLUG, "pages")
    world.bad["ListCompetitionPages"] = [answer({})]
    assert not await poller.poll(SLUG, "pages")


async def test_boards_are_series_without_repetitions(world: World, store: Store, poller: Poller) -> None:
    for part in ("top", "board", "top", "board"):
        await poller.poll(SLUG, part)
    world.board.insert(0, (3, "cem", 0.4))
    world.clock.advance(60)
    for part in ("top", "board"):
        assert (await poller.poll(SLUG, part)).ids("board changed") == ["whole" if part == "board" else "top"]
    with store.read() as session:
        top, whole = history(session, SLUG, "board", "top"), history(session, SLUG, "board", "whole")
        newest = last_reading(session, SLUG, "board", "whole")
    assert [row.data for row in top] == [{"teams": 2, "direction": "minimize"}, {"teams": 3, "direction": "minimize"}]
    assert [row.data for row in whole] == [{"teams": 2}, {"teams": 3}]
    assert newest is not None and newest.at == world.clock.now()
    rows = json.loads(store.blob(newest.sha256 or ""))
    assert rows[0] == {"rank": 1, "team_id": "3", "team": "cem", "score": 0.4, "submissions": 1}
    assert json.loads(store.blob(top[0].sha256 or ""))[1]["team"] == "bob"


async def test_a_competition_that_the_list_left_out_is_not_taken_for_gone(world, store, poller) -> None:
    world.competitions = [competition("leaf", id=1, title="Leaf Classification", userHasEntered=False)]
    world.competitions[0].pop("deadline")
    await poller.poll(SLUG, "competitions")
    world.competitions = []
    assert not (await poller.poll(SLUG, "competitions")).ids("competition gone")
    assert world.methods()[-1] == "GetCompetition"


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
        messages = session.exec(select(PostedMessage).where(PostedMessage.competition == slug)).all()
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
