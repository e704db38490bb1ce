"""The daemon's resources, each opened as configured and closed at the end."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path

from bot.agents.builtin import BUILT_IN
from bot.configuration import Configuration, Settings
from bot.engine.services import SharedServices
from bot.evaluation.client.worker import Worker
from bot.execution.open_leases import open_leases
from bot.extensions import extension
from bot.live.budget import open_day
from bot.live.models import choice_of
from bot.live.services import Shared
from bot.live.slots import Slots
from bot.models.settings import Environment, ModelSettings
from sandbox.choose import choose
from sandbox.environments import chosen_environment
from sandbox.instance import instance_of
from sandbox.leftovers import find_orphaned_resources
from scrapers.kaggle.client import open_client, open_http
from scrapers.kaggle.credentials import Credentials
from scrapers.kaggle.polling.poller import Poller
from scrapers.posts.cleaners import Cleaners
from state.clock import Clock, FastClock, SystemClock
from state.errors import SiteUnavailable, UsageError
from state.polling import RequestMeter
from state.store import Store

_SITE_SECONDS = 60.0
"""Longest real seconds to wait for a rehearsal's site."""
_CHECK_SECONDS = 1.0
"""Real seconds between two checks whether it answers."""
_WORKER_IDLE = 300.0
"""Real seconds without work after which the worker process, which holds pandas, is ended."""


async def find_clock(settings: Settings, say: Callable[[str, str], None]) -> Clock:
    """Return the machine's clock, or that of the rehearsal, whose site may not have started yet.

    Raises UsageError: there is no such site.
    """
    if not settings.daemon.rehearsal:
        return SystemClock()
    until, is_waiting = asyncio.get_running_loop().time() + _SITE_SECONDS, False
    async with open_http(settings.kaggle.timeouts) as http:
        while True:
            try:
                clock: FastClock = await extension("clocks", "rehearsal")(http, settings.kaggle.url)
                return clock
            except SiteUnavailable as error:
                if asyncio.get_running_loop().time() >= until:
                    raise UsageError(str(error)) from error
                if not is_waiting:
                    say("", f"waiting up to {_SITE_SECONDS:.0f} s: {error}")
                is_waiting = True
                await asyncio.sleep(_CHECK_SECONDS)


@asynccontextmanager
async def open_shared(
    configuration: Configuration,
    folder: Path,
    store: Store,
    clock: Clock,
    say: Callable[[str, str], None],
    credentials: Callable[[], Credentials],
) -> AsyncIterator[Shared]:
    """Open what competitions share. Raises UsageError: something that is configured cannot be used."""
    settings, daemon = configuration.settings, configuration.settings.daemon
    models = ModelSettings(Environment.read(), settings.models)
    runs = folder / "runs"
    runs.mkdir(exist_ok=True)
    trusted = all(choice_of(models, competition).kind == "builtin" for competition in settings.competitions.values())
    sandbox = choose(
        settings.run.sandbox,
        trusted=trusted,
        instance=instance_of(runs),
        settings=settings.sandbox,
        environment=chosen_environment(settings.sandbox.environments_folder, settings.sandbox.environment),
    )
    for leftover in await asyncio.to_thread(find_orphaned_resources, runs):
        say("", f"cleaned up after a killed bot: {leftover.remove()}")
    meter = RequestMeter(store)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(open_client(settings.kaggle, clock, meter, credentials))
        cleaners = await stack.enter_async_context(Cleaners())
        worker = await stack.enter_async_context(aclosing(Worker(idle_seconds=_WORKER_IDLE)))
        leases, gpus = stack.enter_context(
            open_leases(settings.leases, settings.run.gpus, settings.fleet, settings.sandbox)
        )
        yield Shared(
            folder=folder,
            file=configuration.file,
            settings=settings,
            store=store,
            clock=clock,
            speed=clock.speed if isinstance(clock, FastClock) else 1.0,
            client=client,
            poller=Poller(client, store, cleaners, settings.polling),
            machinery=SharedServices(sandbox, leases, models, worker, BUILT_IN),
            gpus=gpus,
            day=open_day(settings.budget, store, clock),
            slots=Slots(daemon.slots),
            say=say,
        )
