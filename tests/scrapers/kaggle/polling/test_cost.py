"""What it costs to watch: a steady competition about three requests in a quarter of an hour, and never more than a cap."""

from collections import Counter
from datetime import timedelta
from pathlib import Path

import httpx2
import pytest

from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.rehearsal.app import App
from bot.rehearsal.site import Site
from scrapers.kaggle.client import KaggleClient
from scrapers.kaggle.credentials import Credentials
from scrapers.kaggle.polling.poller import Poller
from scrapers.kaggle.settings import KaggleSection, Pace, Patience
from scrapers.snapshots.demo import write_demo
from scrapers.snapshots.snapshot import Snapshot
from state.clock import Clock
from state.errors import RateLimited
from state.polling import RequestMeter
from state.store import Store
from tests.scrapers.in_process import Here
from tests.scrapers.kaggle.parts import SetClock
from tests.scrapers.kaggle.polling.world import SLUG, World

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
