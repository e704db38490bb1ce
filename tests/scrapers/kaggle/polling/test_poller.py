"""A cycle: what is due, what a failure does, and what it costs to watch."""

import sqlite3
from collections import Counter
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.simulator.site.app import App
from bot.simulator.site.site import Site
from scrapers.kaggle.client import KaggleClient
from scrapers.kaggle.credentials import Credentials
from scrapers.kaggle.polling.poller import Poller
from scrapers.kaggle.polling.schedule import ORDER
from scrapers.kaggle.settings import KaggleSection, Pace, Patience
from scrapers.snapshots.demo import write_demo
from scrapers.snapshots.snapshot import Snapshot
from state.clock import Clock
from state.errors import NotAuthenticated, NotFound, RateLimited, SiteUnavailable
from state.polling import RequestMeter, watermarks
from state.store import Store
from state.tables import Watermark
from tests.scrapers.in_process import Here
from tests.scrapers.kaggle.parts import SetClock, answer
from tests.scrapers.kaggle.polling.world import SLUG, World, down, peopled

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
    assert set(cycle.ran) == set(ORDER)
    assert cycle.news.counts()["message new"] == 18
    assert cycle.news.counts()["version new"] == 6
    world.methods()
    assert (await poller.cycle(SLUG)).ran == ()
    assert world.methods() == []
    assert poller.wait(SLUG) == 15 * 60
    world.clock.advance(15 * 60)
    assert (await poller.cycle(SLUG)).ran == ("topics",)
    assert world.methods() == ["ListCompetitionTopics"]


async def test_a_second_identical_poll_writes_nothing_but_the_watermarks_time(world, store, poller) -> None:
    peopled(world)
    await poller.cycle(SLUG, everything=True)
    before, last = contents(store.path), marks(store)
    world.clock.advance(86_400)
    cycle = await poller.cycle(SLUG, everything=True)
    assert (set(cycle.ran), cycle.failed, bool(cycle.news)) == (set(ORDER), {}, False)
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
    assert {"kernels", "scores", "board", "submissions"} <= set(cycle.ran)
    world.clock.advance(150)
    cycle = await poller.cycle(SLUG)
    assert (set(cycle.ran), cycle.failed) == ({"topics", "topic_sweep", "messages", "tiers", "top"}, {})
    assert (marks(store)["pages"].failures, marks(store)["topics"].failures) == (1, 0)
    world.clock.advance(6 * 3600)
    assert "pages" in (await poller.cycle(SLUG)).ran


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
    section = KaggleSection(url="http://localhost/v1", pace=pace or Pace(), patience=Patience(attempts=1))
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
