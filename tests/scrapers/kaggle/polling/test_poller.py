"""A cycle: what is due, what a failure does, and what it costs to watch."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
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
from scrapers.kaggle.polling.schedule import ORDER
from scrapers.kaggle.polling.watch import Part
from scrapers.kaggle.settings import KaggleSection, Pace, Timeouts
from scrapers.posts.cleaners import Cleaners
from scrapers.posts.cleaning import readable
from scrapers.snapshots.demo import write_demo
from scrapers.snapshots.snapshot import Snapshot
from state.clock import Clock
from state.errors import NotAuthenticated, NotFound, RateLimited, SiteUnavailable
from state.polling import RequestMeter, watermarks
from state.series import history, last_reading, rules_hash
from state.store import Store
from state.tables import KernelVersion, PolledTopic, PostedMessage, Topic, Watermark
from tests import needs
from tests.bot.simulator.site.parts import both
from tests.scrapers.in_process import Here
from tests.scrapers.kaggle.parts import SetClock, answer
from tests.scrapers.kaggle.polling.world import SLUG, World, down, peopled


def competition(slug: str, **more: Any) -> dict[str, Any]:
    deadline = {"deadline": "2026-12-31T23:59:00Z", "userHasEntered": True}
    return {"ref": f"https://www.kaggle.com/competitions/{slug}", "title": slug.title(), **deadline, **more}


async def test_a_new_deadline_is_a_change_and_the_old_one_is_kept(world: World, store: Store, poller: Poller) -> None:
    world.competitions = [competition("leaf", teamCount=10), competition("rock")]
    assert (await poller.poll(SLUG, "competitions")).ids("competition new") == ["leaf", "rock"]
    world.competitions[0] |= {"teamCount": 11}
    assert not (await poller.poll(SLUG, "competitions")).ids_by_kind
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
    assert not (await poller.poll(SLUG, "data")).ids_by_kind
    world.data[".csv"] += 1
    assert (await poller.poll(SLUG, "data")).ids_by_kind
    world.data.clear()
    assert not (await poller.poll(SLUG, "data")).ids_by_kind
    with store.read() as session:
        kept = [row.data["types"] for row in history(session, SLUG, "data")]
    assert kept == [{".csv": [2, 1_000]}, {".csv": [2, 1_001]}]


async def test_a_change_of_the_rules_changes_their_hash_from_then_on(world, store, poller) -> None:
    assert (await poller.poll(SLUG, "pages")).ids("page changed") == ["rules", "evaluation"]
    before, at = rules_hash(store, SLUG, world.clock.now()), world.clock.now()
    assert before is not None
    world.clock.advance(60)
    assert not (await poller.poll(SLUG, "pages")).ids_by_kind
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
    assert not (await poller.poll(SLUG, "pages")).ids_by_kind


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

AT_ONCE = Pace(per_minute=1e6, burst=1000, per_day=10_000_000, min_interval=0.0)

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


MARKS = "watermark"
"""The one table in which a poll without news may write."""


def contents(path: Path) -> dict[str, list[Any]]:
    """Return every row of every table."""
    with closing(sqlite3.connect(path)) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {table: database.execute(f"SELECT * FROM {table}").fetchall() for table in tables}  # noqa: S608


def marks(store: Store) -> dict[str, Watermark]:
    with store.read() as session:
        return {**watermarks(session, SLUG), **watermarks(session, "")}


async def test_the_first_cycle_reads_everything_and_the_next_one_what_is_due(world: World, poller: Poller) -> None:
    peopled(world)
    cycle = await poller.cycle(SLUG)
    # What the first pass over topics and kernels has read is swept already.
    assert set(cycle.finished) == set(ORDER)
    assert len(cycle.news.ids("message new")) == 18
    assert len(cycle.news.ids("version new")) == 6
    world.methods()
    assert (await poller.cycle(SLUG)).finished == ()
    assert world.methods() == []
    assert poller.wait(SLUG) == 15 * 60
    world.clock.advance(15 * 60)
    assert (await poller.cycle(SLUG)).finished == ("topics",)
    assert world.methods() == ["ListCompetitionTopics"]


async def test_a_second_identical_poll_writes_nothing_but_the_watermarks_time(world, store, poller) -> None:
    peopled(world)
    await poller.cycle(SLUG, everything=True)
    before, last = contents(store.path), marks(store)
    world.clock.advance(86_400)
    cycle = await poller.cycle(SLUG, everything=True)
    assert (set(cycle.finished), cycle.failed, bool(cycle.news.ids_by_kind)) == (set(ORDER), {}, False)
    after = contents(store.path)
    # A topic's messages are units of their own: when they were last read is their watermark.
    differing = {table for table in after if after[table] != before[table]}
    assert differing <= {MARKS, "polledtopic"}
    assert {table: len(rows) for table, rows in after.items()} == {table: len(rows) for table, rows in before.items()}
    now = marks(store)
    dropped = {"at", "served_at", "value"}
    assert {p: m.model_dump(exclude=dropped) for p, m in now.items()} == {
        p: m.model_dump(exclude=dropped) for p, m in last.items()
    }
    assert all(mark.at == world.clock.now() for mark in now.values())


async def test_every_observation_has_our_time_and_the_sites(world: World, store: Store, poller: Poller) -> None:
    await poller.cycle((peopled(world), SLUG)[1])
    rows = contents(store.path)["observation"]
    with closing(sqlite3.connect(store.path)) as database:
        assert database.execute("SELECT count(*) FROM observation WHERE served_at IS NULL").fetchone() == (0,)
        assert database.execute("SELECT count(*) FROM reading WHERE served_at IS NULL").fetchone() == (0,)
    assert len(rows) > 30


async def test_a_part_that_fails_stops_no_other_and_is_tried_again(world: World, store: Store, poller: Poller) -> None:
    peopled(world)
    gone = answer({"error": {"code": 404, "message": "Not found"}}, 404)
    world.bad = {"ListCompetitionTopics": [down], "ListCompetitionPages": [gone], "GetLeaderboard": [answer("<html>")]}
    cycle = await poller.cycle(SLUG)
    assert {part: type(error) for part, error in cycle.failed.items()} == {
        # The family is left in peace for a moment after the first.
        **{"topics": SiteUnavailable, "topic_sweep": RateLimited},
        **{"pages": NotFound, "top": SiteUnavailable},
    }
    assert "Not found" in (marks(store)["pages"].error or "")
    assert {"kernels", "scores", "board", "submissions"} <= set(cycle.finished)
    world.clock.advance(150)
    cycle = await poller.cycle(SLUG)
    assert (set(cycle.finished), cycle.failed) == ({"topics", "topic_sweep", "messages", "tiers", "top"}, {})
    assert (marks(store)["pages"].failures, marks(store)["topics"].failures) == (1, 0)
    world.clock.advance(6 * 3600)
    assert "pages" in (await poller.cycle(SLUG)).finished


async def test_an_unknown_token_ends_the_cycle(world: World, store: Store, poller: Poller) -> None:
    unknown = {"error": {"code": 401, "message": "Unauthenticated", "status": "UNAUTHENTICATED"}}
    world.bad["ListCompetitions"] = [answer(unknown, 401)]
    with pytest.raises(NotAuthenticated):
        await poller.cycle(SLUG)
    assert world.methods() == ["ListCompetitions"]
    assert marks(store)["competitions"].failures == 1


async def test_one_part_can_be_read_whether_it_is_due_or_not(world: World, poller: Poller) -> None:
    await poller.cycle(SLUG)
    world.pages["rules"] = "Other rules."
    assert (await poller.poll(SLUG, "pages")).ids("page changed") == ["rules"]


async def test_competitions_are_kept_apart(world: World, store: Store, poller: Poller) -> None:
    world.thread(1)
    await poller.poll(SLUG, "topics")
    await poller.poll("rock", "topics")
    assert [row[:2] for row in contents(store.path)["topic"]] == [("leaf", "1"), ("rock", "1")]


TICK = 15 * 60.0

TICKS = 96
"""A day of them."""


def client(http: httpx2.AsyncClient, store: Store, clock: Clock, pace: Pace | None = None) -> KaggleClient:
    key = Credentials("KGAT_rehearsal")
    section = KaggleSection(url="http://localhost/v1", pace=pace or Pace(), timeouts=Timeouts(attempts=1))
    return KaggleClient(http, lambda: key, clock, RequestMeter(store), section)


@pytest.mark.integration
async def test_a_day_without_news_costs_about_three_requests_a_cycle(tmp_path: Path) -> None:
    snapshot = Snapshot.load(write_demo(tmp_path / "demo"), METRIC_DIRECTIONS)
    clock = SetClock(snapshot.card.deadline - timedelta(days=10))
    site = Site(snapshot, clock)
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(App(site))) as http:
        with Store.open(tmp_path / "bot.db", clock) as store:
            poller = Poller(client(http, store, clock), store, Here())
            assert (await poller.cycle(snapshot.card.slug)).news.ids("message new")
            site.requests.clear()
            start = clock.now()
            for tick in range(1, TICKS + 1):
                clock.time = start + timedelta(seconds=tick * TICK)
                cycle = await poller.cycle(snapshot.card.slug)
                assert not (cycle.failed or cycle.news.ids("message new") or cycle.news.ids("version new"))
    site.close()
    asked = Counter(site.requests)
    each = asked.total() / TICKS
    print(f"{each:.2f} requests a cycle: {dict(asked.most_common())}")
    assert 2.0 < each <= 3.5


@pytest.mark.integration
async def test_the_days_cap_holds_over_restarts_and_the_next_day_goes_on(world: World, store: Store) -> None:
    for id in range(1, 15):
        world.thread(id, minutes=id)
    asked, posts = Counter[str](), Counter[str]()
    read = ("ListCompetitionTopics", "ListTopicMessages", "ListKernels", "GetKernel", "ListEntities")

    def count(method: str, body: object) -> None:
        day = world.clock.now().date().isoformat()
        asked.update([day])
        posts.update([day] if method in read else [])

    world.before = count
    pace = Pace(per_day=10, reserved=0.3)
    while len(asked) < 3:
        # A new process has no other memory than the database.
        async with httpx2.AsyncClient(transport=httpx2.MockTransport(world)) as http:
            cycle = await Poller(client(http, store, world.clock, pace), store, Here()).cycle(SLUG)
        assert all(isinstance(error, RateLimited) for error in cycle.failed.values())
        world.clock.advance(5 * 3600)
    assert all(4 <= posts[day] <= 7 and asked[day] <= 10 for day in list(asked)[:2])
    assert RequestMeter(store).counts(world.clock.now().date())
