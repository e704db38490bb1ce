"""What the page shows: the daemon's database, and the runs in folders. Nothing here writes."""

import os
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from bot.configuration import Settings, read_settings
from bot.execution.folder import RunFolder, run_folders
from bot.report.result import RunResult, read_latest
from bot.status.accounts import Allowance
from bot.status.runs import RunStatus, run_status
from state.clock import SystemClock
from state.errors import UsageError
from state.store import Store

_MOST_OPEN = 8
"""Databases that are kept open."""
Version = tuple[tuple[int, int] | None, ...]
"""Times of change and sizes of files; it differs when something was written."""


@dataclass(frozen=True)
class RunListItem:
    """One run in a folder, as a list shows it."""

    name: str
    """The folder's, by which its page is found."""
    status: RunStatus
    result: RunResult | None
    """None: nothing of it is known yet."""


@dataclass
class Sources:
    """A daemon's database by its bot.toml, and folders with runs."""

    config: Path | None
    """bot.toml as an absolute path; None: the default settings."""
    folders: Sequence[Path] = ()
    _items: dict[str, tuple[Version, RunListItem]] = field(default_factory=dict)
    _settings: tuple[Version, Settings] | None = None
    _stores: dict[Path, tuple[tuple[int, int] | None, Store]] = field(default_factory=dict)
    _opening: threading.Lock = field(default_factory=threading.Lock)

    @property
    def settings(self) -> Settings:
        """The settings as the file is now. Raises ConfigurationError: it is wrong."""
        now = stamps([] if self.config is None else [self.config])
        if self._settings is None or self._settings[0] != now:
            self._settings = now, read_settings(self.config)
        return self._settings[1]

    @property
    def allowance(self) -> Allowance:
        """What may be spent, as it is configured now."""
        return Allowance(self.settings.budget, self.settings.competitions)

    @property
    def database(self) -> Path | None:
        """The daemon's database; None: there is none yet."""
        path = self.settings.daemon.folder / "bot.db"
        return path if path.is_file() else None

    def daemon(self) -> Store:
        """Return the daemon's database, opened for reading.

        Raises UsageError: there is none; StateUnavailable: it cannot be used now.
        """
        if (path := self.database) is None:
            raise UsageError("the daemon has no database yet: `bot run` creates it")
        return self.store(path)

    def store(self, path: Path) -> Store:
        """Return a database, opened for reading; it stays open, as what asks it is compiled once for each opening.

        Raises UsageError: there is none, or another version of the bot made it; StateUnavailable: it cannot be used now.
        """
        identity = None if (stat := _stat(path)) is None else (stat.st_dev, stat.st_ino)
        with self._opening:
            open_store = self._stores.pop(path, None)
            if open_store is None or open_store[0] != identity:
                # A database that was replaced, as by a backup, is another file.
                open_store = identity, Store.open_to_read(path, SystemClock())
            self._stores[path] = open_store
            while len(self._stores) > _MOST_OPEN:
                # Whoever still reads it keeps it open.
                del self._stores[next(iter(self._stores))]
        return open_store[1]

    def runs(self) -> dict[str, RunFolder]:
        """Return the replays in the folders by name, the newest last; live runs are in the daemon's database."""
        return {folder.path.resolve().name: folder for folder in run_folders(self.folders)}

    def run(self, name: str) -> RunFolder:
        """Return a run's folder. Raises UsageError: there is none of that name."""
        if (folder := self.runs().get(name)) is None:
            raise UsageError(f"unknown run {name}: it is not in the folders that this page shows")
        return folder

    def lines(self) -> list[RunListItem]:
        """Return all runs, the newest first; one that has not changed is not read again."""
        now, items = datetime.now(UTC), {}
        for name, folder in self.runs().items():
            version, item = run_version(folder), self._items.get(name)
            if item is None or item[0] != version or item[1].status.status == "running":
                item = version, RunListItem(name, run_status(folder, now), result_of(folder))
            items[name] = item
        self._items = items
        return [line for _, line in reversed(items.values()) if line.status.status != "live"]

    def version(self, runs: Iterable[RunFolder]) -> Version:
        """Return the version of the daemon's database and of some runs."""
        daemon = () if (database := self.database) is None else database_stamps(database)
        return (*daemon, *(mark for folder in runs for mark in run_version(folder)))


def result_of(folder: RunFolder) -> RunResult | None:
    """Return what is known of a run's result; None: nothing yet, or an older version of the bot wrote it."""
    try:
        return read_latest(folder)
    except UsageError:
        return None


def run_version(folder: RunFolder) -> Version:
    """Return the version of a run's files."""
    return (*database_stamps(folder.database), *stamps([folder.result, folder.so_far]))


def database_stamps(path: Path) -> Version:
    """Return the version of a database: what is committed is at first in its log alone."""
    return stamps([path, path.with_name(f"{path.name}-wal")])


def stamps(paths: Iterable[Path]) -> Version:
    """Return the time of change and the size of each file; None where there is none."""
    return tuple(None if (stat := _stat(path)) is None else (stat.st_mtime_ns, stat.st_size) for path in paths)


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None
