"""What each kind of task does; and the machine's disk, backups, Docker engine and GPUs."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.daemon.workers import Handler
from bot.execution.disk_space import DiskSettings, free_bytes
from bot.execution.unneeded_files import Prunable, prune, unneeded_files
from bot.leaderboard.rank import leaderboard_moved
from bot.leaderboard.watch import standing_of, watch_board
from bot.live.live_competition import LiveCompetition
from bot.live.open_run import OpenRun
from bot.live.replaced_data import report_replaced_data
from bot.live.services import Shared
from bot.notify import Notice
from bot.notify.outbox import notify
from bot.status.accounts import Allowance
from bot.status.problems import begin, begin_work_broken, end
from bot.status.site import deadline
from bot.status.summary import budget_notices, daily_summary
from sandbox.docker import DockerSandbox
from sandbox.gpu import open_gpus
from scrapers.kaggle.polling.watch import News
from scrapers.posts.sources import take_in
from state.backup import back_up
from state.errors import NotAuthenticated, Retry, StateCorrupted, StateUnavailable
from state.live import latest_runs
from state.retention import Pruned, prune_expired
from state.series import last_readings
from state.store import NO_RUN, Store
from state.tables import Task
from state.tasks import prune_tasks, put_task

_ENOUGH_SPACE = 1.25
"""Times the wanted space that ends the problem: otherwise a disk at its limit would begin it again and again."""
_DISK, _BACKUP = "disk", "backup"


async def check_devices(shared: Shared) -> None:
    """Check the Docker engine and the GPUs that scripts run on; the owner is notified once of one that fails."""
    sandbox, problems = shared.machinery.sandbox, dict[str, str | None]()
    if isinstance(sandbox, DockerSandbox):
        problems["Docker"] = await asyncio.to_thread(sandbox.problem)
    if shared.gpus:
        gpu_count = await asyncio.to_thread(_gpus)
        problems["GPU"] = (
            None if gpu_count >= shared.gpus else f"{gpu_count} GPUs are visible, but a script needs {shared.gpus}"
        )
    with shared.store.write(durable=False) as tx:
        for device, problem in problems.items():
            if problem is None:
                end(tx, device)
            else:
                begin_work_broken(tx, device, device, f"{problem}; for details, run `bot doctor`")


def bound_disk(settings: DiskSettings, folder: Path, store: Store, now: datetime) -> list[Prunable]:
    """Remove what is old and no longer needed; if the disk is nearly full, also what is newer.

    It removes what killed runs left behind, the views of runs that ended, and predictions and submissions of executions
    whose nodes are neither among their run's best, nor sent, nor being worked on. It may take long: call it in a thread.

    `now` is the machine's time, by which files are dated, whatever the daemon's clock. Returns what was removed.
    """
    runs = folder / "runs"
    removed = list(_removed(store, runs, settings.keep_days, now))
    if free_bytes(folder) < settings.free_gb * 1e9:
        removed += _removed(store, runs, 0.0, now)
    free, needed_gb = free_bytes(folder) / 1e9, settings.free_gb
    with store.write() as tx:
        if removed:
            freed = sum(item.bytes for item in removed)
            tx.record("disk.bounded", run_id=NO_RUN, bytes=freed, places=len(removed), free_bytes=int(free * 1e9))
        if free < needed_gb:
            sentence = (
                f"only {free:.1f} GB is free on the disk with {folder}, less than the {needed_gb:g} GB set as free_gb under "
                "[disk] in bot.toml: free some space, or use a larger disk"
            )
            facts = {"since": tx.now(), "folder": str(folder), "free_gb": free, "wanted_gb": needed_gb}
            begin(tx, _DISK, sentence, Notice("problem.disk", "", facts))
        elif free >= needed_gb * _ENOUGH_SPACE:
            end(tx, _DISK)
    return removed


def back_up_daily(store: Store, keep: int) -> Path | None:
    """Make the day's backup; None if that failed, which is a problem until one succeeds.

    Raises StateCorrupted: the database is damaged, and no later backup can succeed; the problem is recorded if possible.
    """
    try:
        backup = back_up(store, keep=keep)
    except (StateUnavailable, OSError) as error:
        _not_backed_up(store, error)
        return None
    except StateCorrupted as error:
        with contextlib.suppress(StateCorrupted, StateUnavailable):
            _not_backed_up(store, error)
        raise
    with store.write() as tx:
        end(tx, _BACKUP)
    return backup


def _not_backed_up(store: Store, error: Exception) -> None:
    with store.write() as tx:
        tx.record("backup.failed", run_id=NO_RUN, error=str(error))
        begin(tx, _BACKUP, f"today's backup failed: {error}")


def _removed(store: Store, runs: Path, keep_days: float, now: datetime) -> Iterator[Prunable]:
    yield from prune(runs, keep_days, now, dry_run=False)
    with store.read() as session:
        unneeded = list(unneeded_files(session, runs, now - timedelta(days=keep_days)))
    for path in unneeded:
        with contextlib.suppress(FileNotFoundError):
            size = path.lstat().st_blocks * 512
            path.unlink()
            yield Prunable("files", str(path), size, f"removed {path}")


def _gpus() -> int:
    with open_gpus() as gpus:
        return len(gpus.all())


_LOG = logging.getLogger(__name__)
_RETENTION = timedelta(days=14)
"""How long ended tasks are kept, so that none is done again under its key."""
_KEY_REFUSED = "Kaggle"
"""The problem that Kaggle refuses the key."""


@dataclass
class TaskHandlers:
    """The handlers of a daemon; entries come and go with the configuration."""

    shared: Shared
    entries: Mapping[str, LiveCompetition]

    def allowance(self) -> Allowance:
        """Return what may be spent, as it is configured now."""
        return Allowance(self.shared.settings.budget, {slug: entry.settings for slug, entry in self.entries.items()})

    def handlers(self) -> Mapping[str, Handler]:
        """Return the handler of each kind of task."""
        return {
            "poll": Handler(self.poll, max_parallel=2, max_seconds=3600.0, max_attempts=3),
            "learn": Handler(self._of_run(OpenRun.learn), max_parallel=2, max_seconds=7200.0, max_attempts=3),
            "submit": Handler(self._of_run(OpenRun.submit), max_parallel=4, max_seconds=4 * 3600.0, max_attempts=20),
            "outputs": Handler(self._of_entry(LiveCompetition.collect_outputs), max_seconds=3600.0, max_attempts=3),
            "final": Handler(self._of_run(OpenRun.propose_final), max_parallel=4),
            "day": Handler(self.day),
            "health": Handler(self.health),
            "disk": Handler(self.disk, max_seconds=3600.0),
            "expiry": Handler(self.expiry, max_seconds=3600.0),
            "backup": Handler(self.backup, max_seconds=3600.0),
        }

    async def poll(self, task: Task) -> None:
        """Read what is due of a competition, and act on what is new."""
        slug, store = task.competition, self.shared.store
        entry = self.entries.get(slug)
        if entry is None or entry.state == "stopped":
            return
        await self._read_notes(entry, task.key)
        try:
            cycle = await self.shared.poller.cycle(slug)
        except NotAuthenticated as error:
            with store.write() as tx:
                is_new = begin_work_broken(tx, _KEY_REFUSED, "Kaggle", str(error))
            if is_new:
                _LOG.error("%s", error)
            entry.changed()
            return
        if cycle.finished:  # where nothing was due, nothing is known of the key
            with store.write() as tx:
                end(tx, _KEY_REFUSED)
        for part, failure in cycle.failed.items():
            self.shared.say(slug, f"cannot read {part}: {failure}")
        await self._act_on(entry, cycle.news, task.key)

    async def _read_notes(self, entry: LiveCompetition, key: str) -> None:
        """Take in the owner's notes that are new or were edited, and have them analysed."""
        shared, slug, folder = self.shared, entry.slug, entry.settings.notes
        if folder is None:
            return
        count, problems = await take_in(shared.store, slug, folder, shared.poller.cleaners, shared.clock.now())
        for sentence in problems:
            shared.say(slug, f"notes: {sentence}")
        if count:
            shared.say(slug, f"read {count} new or edited notes")
            with shared.store.write() as tx:
                put_task(tx, f"learn notes after {key}", "learn", competition=slug)

    async def _act_on(self, entry: LiveCompetition, news: News, key: str) -> None:
        slug, shared = entry.slug, self.shared
        if (lower := entry.lower_is_better) is not None:
            before = standing_of(shared.store, slug)
            now = watch_board(shared.store, slug, lower, run_id=entry.run_id)
            if before is not None and now is not None and leaderboard_moved(before, now):
                entry.board_moved()
        if any(news.ids(kind) for kind in ("message new", "message edited", "version new", "score")):
            with shared.store.write() as tx:
                put_task(tx, f"learn after {key}", "learn", competition=slug)
        report_replaced_data(shared, slug)
        if any(news.ids(kind) for kind in ("competition changed", "competition new", "page changed")):
            entry.changed()
        await entry.with_run(OpenRun.settle)

    async def day(self, task: Task) -> None:
        """Begin a day: send yesterday's summary, and retry what waited for the day's budget."""
        shared = self.shared
        now = shared.clock.now()
        yesterday = (now - timedelta(days=1)).date()
        summary = await asyncio.to_thread(daily_summary, shared.store, yesterday, now, self.allowance())
        with shared.store.write() as tx:
            notify(tx, summary)
            prune_tasks(tx, now - _RETENTION)
        shared.day.retry()
        shared.slots.pulse()

    async def health(self, task: Task) -> None:
        """Check the machine and the budgets."""
        shared = self.shared
        await check_devices(shared)
        reached = await asyncio.to_thread(budget_notices, shared.store, self.allowance(), shared.clock.now())
        if reached:
            with shared.store.write() as tx:
                for notice in reached:
                    notify(tx, notice)

    async def disk(self, task: Task) -> None:
        """Remove what is old, and check for free space."""
        shared, now = self.shared, datetime.now(UTC)
        await asyncio.to_thread(bound_disk, shared.settings.disk, shared.folder, shared.store, now)

    async def expiry(self, task: Task) -> None:
        """Remove what was collected for competitions that ended long ago."""
        shared, days = self.shared, self.shared.settings.daemon.keep_community_days
        for pruned in await asyncio.to_thread(prune_ended, shared.store, self.allowance(), days, shared.clock.now()):
            removed = f"{pruned.posts} posts and {pruned.derived} analyses, ideas, drafts and reports based on them"
            shared.say(pruned.competition, f"ended more than {days:g} days ago: removed {removed}")

    async def backup(self, task: Task) -> None:
        """Make the day's backup."""
        await asyncio.to_thread(back_up_daily, self.shared.store, self.shared.settings.daemon.backups)

    def _of_run(self, act: Callable[[OpenRun], Awaitable[None]]) -> Callable[[Task], Awaitable[None]]:
        return self._of_entry(lambda entry: entry.with_run(act))

    def _of_entry(self, act: Callable[[LiveCompetition], Awaitable[None]]) -> Callable[[Task], Awaitable[None]]:
        async def run(task: Task) -> None:
            entry = self.entries.get(task.competition)
            if entry is None or entry.state in ("stopped", "over"):
                return
            if not entry.is_open:
                raise Retry(600.0, f"{entry.slug} is paused: {entry.reason}", counted=False)
            await act(entry)

        return run


def prune_ended(store: Store, allowance: Allowance, keep_days: float, now: datetime) -> list[Pruned]:
    """Remove the communities of competitions that ended more than `keep_days` ago; see `state.retention`.

    Nothing of a competition whose end is unknown is removed. Removing takes as long as rewriting the database: call it in
    a thread. Raises what `prune_community` raises.

    """
    with store.read() as session:
        runs = latest_runs(session)
        slugs = {*allowance.competitions, *runs, *(slug for slug, _ in last_readings(session, None, "competition"))}
        deadlines = {slug: deadline(session, slug, allowance.competitions.get(slug), runs.get(slug)) for slug in slugs}
    return prune_expired(store, {slug: end for slug, end in deadlines.items() if end is not None}, keep_days, now)
