"""What competitions share, around a stand-in site that is served, for tests of one part of the daemon."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path

import httpx2

from bot.agents.builtin import BUILT_IN
from bot.configuration import Settings
from bot.engine.services import SharedServices
from bot.evaluation.client.worker import Worker
from bot.live.budget import open_day
from bot.live.services import Shared
from bot.live.slots import Slots
from bot.models.sections import ModelsSection
from bot.models.settings import Environment, ModelSettings
from sandbox.leases import Leases
from sandbox.process import ProcessSandbox
from scrapers.kaggle.client import KaggleClient
from scrapers.kaggle.credentials import Credentials
from scrapers.kaggle.pacing import Tally
from scrapers.kaggle.polling.poller import Poller
from scrapers.kaggle.polling.settings import PollingSettings
from scrapers.kaggle.settings import KaggleSection, Pace
from state.store import Store
from tests.bot.simulator.site.parts import Served
from tests.scrapers.in_process import Here

PACE = Pace(per_minute=1e6, burst=10_000, per_day=1_000_000, min_interval=0.0)


@asynccontextmanager
async def shared(site: Served, folder: Path, settings: Settings | None = None) -> AsyncIterator[Shared]:
    """Give it, on the site's clock, with the built-in model and plain processes."""
    settings = settings or Settings()
    locks, runs = folder / "locks", folder / "runs"
    for one in (locks, runs):
        one.mkdir(parents=True)
    key = Credentials(site.site.settings.token)
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(httpx2.AsyncClient(verify=False, timeout=10))
        section = KaggleSection(url=f"{site.client.url}/v1", pace=PACE)
        client = KaggleClient(http, lambda: key, site.clock, Tally(), section)
        store = stack.enter_context(Store.open(folder / "bot.db", site.clock))
        worker = await stack.enter_async_context(aclosing(Worker()))
        yield Shared(
            folder=folder,
            file=folder / "bot.toml",
            settings=settings,
            store=store,
            clock=site.clock,
            speed=1.0,
            client=client,
            poller=Poller(client, store, Here(), PollingSettings()),
            machinery=SharedServices(
                ProcessSandbox(), Leases(locks), ModelSettings(Environment(), ModelsSection()), worker, BUILT_IN
            ),
            gpus=0,
            day=open_day(settings.budget, store, site.clock),
            slots=Slots(1),
            say=lambda competition, line: None,
        )
