"""The service: everything that `bot run` starts, in the order of dependency, and its end."""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager, suppress

from bot.configuration import Configuration, Settings, read_configuration
from bot.daemon.claims import Claims
from bot.daemon.page import keep_page
from bot.daemon.resources import find_clock, open_shared
from bot.daemon.schedule import Ticks, schedule
from bot.daemon.supervision import LoopSupervisor, record_failure
from bot.daemon.systemd import Systemd
from bot.daemon.tasks import TaskHandlers
from bot.daemon.watchdog import Watchdog
from bot.daemon.workers import Workers
from bot.live.live_competition import LiveCompetition
from bot.live.services import Shared
from bot.notify.outbox import Delivered, deliver
from bot.notify.services import AppriseNotifier, open_services
from bot.status.lock import LOCK, works_already
from bot.status.presence import record_end, record_start
from bot.status.problems import begin_work_broken, current, end, end_all_of
from sandbox.locks import holding
from state.errors import BotError, ConfigurationError, StateCorrupted, StateUnavailable, UsageError
from state.redaction import Redactor
from state.store import Store

_GRACE = 15.0
"""Real seconds that tasks may still take when the daemon ends."""
_CHECK_SECONDS = 1.0
"""Real seconds between two checks for what other processes have written."""
_DELIVER = 30.0
"""Seconds of the clock between two rounds of notifications."""
_LAST_ROUNDS = 10
_MIN_ROUND_SECONDS = 0.5
"""Real seconds."""
_ENTRY_PAUSE = 600.0
"""Seconds of the clock after which failed work on a competition is resumed."""

_CLAIM = "claim/"
"""Problems of competitions that another process works on."""


async def serve(
    configuration: Configuration, redactor: Redactor, say: Callable[[str, str], None], *, until_over: bool
) -> None:
    """Compete until stopped, or with `until_over` until all competitions are over.

    `say` logs a line, for a competition or for none (empty).

    Raises:
        UsageError: another daemon works in the same folder, or for the same account on one of the competitions; or
            something that is configured cannot be used.
        KeepsFailing: a part of it failed again and again.
        StateCorrupted: the database is damaged.
    """
    settings, systemd = configuration.settings, Systemd.from_environment(os.environ)
    folder = settings.daemon.folder
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    async with AsyncExitStack() as stack:
        stack.enter_context(holding(folder / LOCK, works_already(folder)))
        claims = stack.enter_context(Claims(settings.kaggle.url))
        for slug in settings.competitions:
            claims.take(slug)
        clock = await find_clock(settings, say)
        store = stack.enter_context(Store.open(folder / "bot.db", clock, redactor=redactor))
        shared = await stack.enter_async_context(
            open_shared(configuration, folder, store, clock, say, claims.credentials)
        )
        services = open_services(settings.notify)
        daemon = _Daemon(shared, until_over, services, systemd, claims)
        with store.write() as tx:
            record_start(tx, os.getpid())
        try:
            await daemon.run()
        finally:
            with suppress(StateUnavailable), store.write() as tx:
                record_end(tx)


class _Daemon:
    def __init__(
        self, shared: Shared, until_over: bool, services: dict[str, AppriseNotifier], systemd: Systemd, claims: Claims
    ) -> None:
        self._shared, self._ends_when_over, self._services, self._systemd = shared, until_over, services, systemd
        self._claims = claims
        self._entries: dict[str, LiveCompetition] = {}
        store, clock = shared.store, shared.clock
        tasks = TaskHandlers(shared, self._entries)
        self._workers = Workers(store, clock, tasks.handlers(), speed=shared.speed)
        self._ticks = Ticks(clock, shared.speed, failed=self._tick_failed)
        self._supervisor = LoopSupervisor(store)
        self._watchdog = Watchdog(systemd, store, lambda: self._workers.turns, self._status)
        self._stop = asyncio.Event()

    async def run(self) -> None:
        """Run until SIGTERM or SIGINT, or, with the option, until all competitions are over."""
        self._configure(self._shared.settings)
        shared, wake = self._shared, self._workers.wake
        schedule(self._ticks, shared.store, self._entries, wake, shared.speed, shared.settings.polling.outputs)
        for name, loop in {
            "workers": self._workers.run,
            "watchdog": self._watchdog.run,
            "ticks": self._ticks.run,
            "notifications": self._deliver,
            "steering": self._watch_steering,
        }.items():
            self._supervisor.add(name, loop)
        if shared.settings.web.enabled:
            self._supervisor.add("page", lambda: keep_page(shared.file, lambda text: shared.say("", text)))
        with _signals(self._stop.set, self._reload):
            running = asyncio.create_task(self._supervisor.run())
            self._systemd.ready(self._status())
            stop = asyncio.create_task(self._stop.wait())
            over = asyncio.create_task(self._until_over())
            try:
                await asyncio.wait({running, stop, over}, return_when=asyncio.FIRST_COMPLETED)
                if running.done():
                    running.result()
            finally:
                self._systemd.stopping("shutting down")
                stop.cancel()
                over.cancel()
                await self._supervisor.remove("ticks")
                # Tasks first: they use what competitions hold open.
                await self._workers.stop(_GRACE)
                for slug in self._entries:
                    await self._supervisor.remove(_loop(slug))
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)
                await self._deliver_the_last()

    def _configure(self, settings: Settings) -> None:
        with self._shared.store.write() as tx:
            for problem in current(tx.session):
                if problem.key.startswith(_CLAIM):
                    end(tx, problem.key)
        for slug, competition in settings.competitions.items():
            if slug in self._entries:
                self._entries[slug].configure(competition)
            elif self._is_claimed(slug):
                self._entries[slug] = LiveCompetition(slug, competition, self._shared)
                self._supervisor.add(_loop(slug), lambda slug=slug: self._attend(slug))  # type: ignore[misc]

    def _is_claimed(self, slug: str) -> bool:
        """Claim a competition; one that another process works on is left alone, and the owner is notified."""
        try:
            self._claims.take(slug)
        except UsageError as error:
            self._shared.say(slug, f"skipped: {error}")
            with self._shared.store.write() as tx:
                begin_work_broken(tx, f"{_CLAIM}{slug}", slug, str(error))
            return False
        return True

    async def _attend(self, slug: str) -> None:
        """Keep the work on a competition going; a failure takes nothing else down, and the work is resumed later."""
        entry, shared = self._entries[slug], self._shared
        while True:
            try:
                await entry.work()
            except StateCorrupted:
                raise
            except Exception as error:  # the daemon's supervision boundary: the traceback is kept as an event
                with shared.store.write() as tx:
                    record_failure(tx, "entry.failed", error, competition=slug)
                    begin_work_broken(tx, f"entry/{slug}", slug, f"{type(error).__name__}: {error}")
                shared.say(slug, f"work failed and will be resumed later: {error}")
                await shared.clock.sleep(_ENTRY_PAUSE)
            else:
                self._claims.release(slug)
                return

    async def _remove(self, slug: str) -> None:
        await self._supervisor.remove(_loop(slug))
        self._claims.release(slug)

    def _reload(self) -> None:
        """Read the configuration again; a wrong one changes nothing."""
        self._systemd.reloading()
        store = self._shared.store
        try:
            configuration = read_configuration(self._shared.file).settings
        except ConfigurationError as error:
            self._shared.say("", f"invalid configuration, keeping the previous one: {error}")
            with store.write() as tx:
                reason = f"invalid, keeping the previous configuration: {error}"
                begin_work_broken(tx, "configuration", "bot.toml", reason)
        else:
            with store.write() as tx:
                end(tx, "configuration")
            removed_slugs = [slug for slug in self._entries if slug not in configuration.competitions]
            for slug in removed_slugs:
                del self._entries[slug]
                asyncio.ensure_future(self._remove(slug))  # noqa: RUF006 - the supervisor holds it
                with store.write() as tx:
                    end_all_of(tx, slug)
            self._configure(configuration)
            self._shared.say("", f"configuration reloaded: {', '.join(configuration.competitions) or 'nothing'}")
        self._systemd.ready(self._status())

    async def _deliver(self) -> None:
        while True:
            await self._deliver_once()
            await asyncio.sleep(max(_MIN_ROUND_SECONDS, _DELIVER / self._shared.speed))

    async def _deliver_once(self) -> Delivered:
        shared = self._shared
        return await deliver(shared.store, self._services, shared.clock, shared.settings.notify)

    async def _deliver_the_last(self) -> None:
        """Send what is left; after a failure try again in a moment, as a cancelled attempt may still be under way."""
        for _ in range(_LAST_ROUNDS):
            if not (await self._deliver_once()).failed_count:
                return
            await asyncio.sleep(_CHECK_SECONDS)

    async def _watch_steering(self) -> None:
        """Make competitions check again when another process has written to the database."""
        last_version = None
        while True:
            version = self._shared.store.foreign_version()
            if version != last_version:
                last_version = version
                for entry in self._entries.values():
                    entry.changed()
                self._workers.wake()
            await asyncio.sleep(_CHECK_SECONDS)

    async def _until_over(self) -> None:
        """Return when nothing is left to do for any competition; without the option, never."""
        while not self._ends_when_over or any(_loop(slug) in self._supervisor.loops for slug in self._entries):
            await asyncio.sleep(_CHECK_SECONDS)

    def _status(self) -> str:
        counts = Counter(entry.state for entry in self._entries.values())
        states = ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))
        return f"competitions: {states}" if states else "no competitions configured"

    def _tick_failed(self, name: str, error: Exception) -> None:
        self._shared.say("", f"job {name} failed: {error}")
        if isinstance(error, BotError):
            return
        with suppress(StateUnavailable), self._shared.store.write() as tx:
            record_failure(tx, "tick.failed", error, tick=name)


def _loop(slug: str) -> str:
    return f"competition {slug}"


@contextmanager
def _signals(stop: Callable[[], object], reload: Callable[[], None]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    handlers = {signal.SIGTERM: stop, signal.SIGINT: stop, signal.SIGHUP: reload}
    for number, handler in handlers.items():
        loop.add_signal_handler(number, handler)
    try:
        yield
    finally:
        for number in handlers:
            loop.remove_signal_handler(number)
