"""A poller in a process of its own, which may be killed at any moment: until a time, then until it has settled."""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from multiprocessing.connection import Connection
from pathlib import Path

from scrapers.kaggle.client import KaggleClient, open_http
from scrapers.kaggle.credentials import Credentials
from scrapers.kaggle.polling.poller import Poller
from scrapers.kaggle.polling.settings import PollingSettings
from scrapers.kaggle.settings import KaggleSection, Timeouts
from scrapers.posts.cleaners import Cleaners
from state.clock import FastClock
from state.polling import RequestMeter
from state.store import Store

READY, SETTLED, GO_ON, DONE = "ready", "settled", "go on", "done"
_NEVER = 1e9
SETTINGS = PollingSettings(search_pages=10, rereads=_NEVER, topic_sweep=_NEVER, kernel_sweep=_NEVER)
"""Without what reads all again now and then, and so would make up for a loss."""
_LISTS = {"topics", "kernels"}
TIMEOUTS = Timeouts(connect=5.0, read=0.5)


@dataclass(frozen=True)
class Task:
    """The work of a poller, as it is passed to another process."""

    database: Path
    url: str
    slug: str
    start: datetime
    speed: float
    began: float
    end: datetime


def run(task: Task, reports: Connection) -> None:
    """Poll, and report when that begins, when everything due after the end is read, and when everything was read again."""
    asyncio.run(_poll(task, reports))


async def _poll(task: Task, reports: Connection) -> None:
    clock = FastClock(task.start, task.speed, task.began)
    key = Credentials("KGAT_rehearsal")
    with Store.open(task.database, clock) as store:
        async with open_http(TIMEOUTS) as http, Cleaners() as cleaners:
            client = KaggleClient(
                http, lambda: key, clock, RequestMeter(store), KaggleSection(url=f"{task.url}/v1", timeouts=TIMEOUTS)
            )
            poller = Poller(client, store, cleaners, SETTINGS)
            reports.send(READY)
            while clock.now() < task.end:
                await poller.cycle(task.slug)
                await clock.sleep(max(60.0, poller.wait(task.slug)))
            await _settle(poller, task.slug, clock)
            reports.send(SETTLED)
            assert reports.recv() == GO_ON
            while (await poller.cycle(task.slug, everything=True)).failed:
                await clock.sleep(3600.0)
            reports.send(DONE)


async def _settle(poller: Poller, slug: str, clock: FastClock) -> None:
    """Run cycles until the lists show nothing that is not read."""
    while True:
        await clock.sleep(3600.0)
        cycle = await poller.cycle(slug)
        if set(cycle.finished) >= _LISTS and not cycle.failed and not cycle.news.ids_by_kind:
            return
