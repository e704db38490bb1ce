"""Duties: what each kind of task does."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from bot.daemon.disk import back_up_daily, bound_disk
from bot.daemon.entry import Entry
from bot.daemon.expiry import prune_ended
from bot.daemon.handling import Handler
from bot.daemon.health import check_health
from bot.daemon.shared import Shared
from bot.daemon.standing import leaderboard_moved, standing_of, watch_board
from bot.daemon.summary import budget_notices, daily_summary
from bot.daemon.trouble import begin, end
from bot.looking.accounts import Allowance
from bot.notify.events.trouble import TokenRefused
from bot.notify.outbox import notify
from scrapers.kaggle.polling.watch import News
from state.errors import NotAuthenticated, Retry
from state.tasks import Task, prune_tasks, put_task

__all__ = ["Duties"]

_KEPT = timedelta(days=14)
"""For so long tasks that have ended are kept, so that none is done again under its key."""
_KEY_REFUSED = "token"
"""Key of the trouble that Kaggle does not take ours."""


@dataclass
class Duties:
    """The handlers of a daemon; entries come and go with the configuration."""

    shared: Shared
    entries: Mapping[str, Entry]

    def allowance(self) -> Allowance:
        """Return what may be spent, as it is configured now."""
        return Allowance(self.shared.settings.budget, {slug: entry.own for slug, entry in self.entries.items()})

    def handlers(self) -> Mapping[str, Handler]:
        """Return who does what."""
        return {
            "poll": Handler(self.poll, at_once=2, longest=3600.0, tries=3),
            "learn": Handler(self._of_entry(Entry.learn), at_once=2, longest=7200.0, tries=3),
            "submit": Handler(self._of_entry(Entry.submit), at_once=4, longest=4 * 3600.0, tries=20),
            "outputs": Handler(self._of_entry(Entry.collect_outputs), longest=3600.0, tries=3),
            "final": Handler(self._of_entry(Entry.propose_final), at_once=4),
            "day": Handler(self.day),
            "health": Handler(self.health),
            "disk": Handler(self.disk, longest=3600.0),
            "expiry": Handler(self.expiry, longest=3600.0),
            "backup": Handler(self.backup, longest=3600.0),
        }

    async def poll(self, task: Task) -> None:
        """Read what is due of a competition, and take up what is new."""
        slug, store = task.competition, self.shared.store
        entry = self.entries.get(slug)
        if entry is None or entry.state == "stopped":
            return
        try:
            cycle = await self.shared.poller.cycle(slug)
        except NotAuthenticated as error:
            with store.write() as tx:
                begin(tx, _KEY_REFUSED, str(error), TokenRefused(tx.now(), "Kaggle's key"))
            entry.changed()
            return
        with store.write() as tx:
            end(tx, _KEY_REFUSED)
        for part, failure in cycle.failed.items():
            self.shared.say(slug, f"{part} could not be read: {failure}")
        await self._take_up(entry, cycle.news, task.key)

    async def _take_up(self, entry: Entry, news: News, key: str) -> None:
        """Tell the parts that are concerned what a poll has found."""
        slug, shared = entry.slug, self.shared
        if (lower := entry.lower_is_better) is not None:
            before = standing_of(shared.store, slug)
            now = watch_board(shared.store, slug, lower, run_id=entry.run_id)
            if before is not None and now is not None and leaderboard_moved(before, now):
                entry.board_moved()
        if any(news.ids(kind) for kind in ("message new", "message edited", "version new", "score")):
            with shared.store.write() as tx:
                put_task(tx, f"learn after {key}", "learn", competition=slug)
        if any(news.ids(kind) for kind in ("competition changed", "competition new", "page changed")):
            entry.changed()
        await entry.settle()

    async def day(self, task: Task) -> None:
        """Begin a day: yesterday's summary is told, and there is room in budgets again."""
        shared = self.shared
        now = shared.clock.now()
        yesterday = (now - timedelta(days=1)).date()
        summary = await asyncio.to_thread(daily_summary, shared.store, yesterday, now, self.allowance())
        with shared.store.write() as tx:
            notify(tx, summary.notice())
            prune_tasks(tx, now - _KEPT)
        shared.day.retry()
        shared.slots.pulse()

    async def health(self, task: Task) -> None:
        """Look after the machine, and after what is spent."""
        shared = self.shared
        await check_health(shared)
        reached = await asyncio.to_thread(budget_notices, shared.store, self.allowance(), shared.clock.now())
        if reached:
            with shared.store.write() as tx:
                for event in reached:
                    notify(tx, event.notice())

    async def disk(self, task: Task) -> None:
        """Remove what is old, and see that there is room."""
        shared, now = self.shared, datetime.now(UTC)
        await asyncio.to_thread(bound_disk, shared.settings.disk, shared.folder, shared.store, now, begin, end)

    async def expiry(self, task: Task) -> None:
        """Remove what was collected for competitions that ended long ago."""
        shared, configured = self.shared, {slug: entry.own for slug, entry in self.entries.items()}
        days = shared.settings.daemon.keep_community_days
        for one in await asyncio.to_thread(prune_ended, shared.store, configured, days, shared.clock.now()):
            told = f"{one.posts} posts, and {one.derived} analyses, ideas, drafts and reports made of them"
            shared.say(one.competition, f"it ended more than {days:g} days ago: removed {told}")

    async def backup(self, task: Task) -> None:
        """Make the day's backup, and check it."""
        own = self.shared.settings.daemon
        most = int(own.backups_gb * 1e9)
        await asyncio.to_thread(back_up_daily, self.shared.store, begin, end, keep=own.backups, most_bytes=most)

    def _of_entry(self, act: Callable[[Entry], Awaitable[None]]) -> Callable[[Task], Awaitable[None]]:
        async def run(task: Task) -> None:
            entry = self.entries.get(task.competition)
            if entry is None or entry.state in ("stopped", "over"):
                return
            if not entry.is_open:
                raise Retry(600.0, f"{entry.slug} is not worked on now: {entry.why}", counted=False)
            await act(entry)

        return run
