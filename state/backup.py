"""Copies of the database: a backup beside it, made from time to time while it is in use, or a new file in its place."""

import fcntl
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from state.errors import BotError, StateUnavailable
from state.faults import backup_path, damaged, free_bytes, translating
from state.integrity import connect, first_fault, last_event

_LOG = logging.getLogger(__name__)

EVERY = 300.0
"""Seconds between automatic backups; a database that takes long to copy gets fewer."""
FIRST = 60.0
"""Seconds after which a new database gets its first backup."""
MOST_SHARE = 0.01
"""Share of the time that copying may take."""
RESERVE = 256_000_000
"""Bytes that a backup leaves free on the disk."""


@dataclass(frozen=True)
class Backup:
    """A backup that was made: its file, the number of its newest event, and the seconds that copying took."""

    path: Path
    events: int
    seconds: float


def back_up(path: Path, target: Path | None = None, *, thorough: bool = False) -> Backup:
    """Copy a database, which may be in use, to a file; an earlier file stays until the copy is complete.

    The copy is one state of the database. It is checked, so that a damaged database never replaces a good backup,
    flushed to the disk, and renamed. No writer waits for it.

    Args:
        path: the database.
        target: the copy, on the same disk; None: `backup_path`.
        thorough: compare every index of the copy with its table, too.

    Raises:
        StateCorrupted: the database is damaged.
        StateUnavailable: the disk is nearly full, or another process is making one.
    """
    began = time.monotonic()
    target = target or backup_path(path)
    size = path.stat().st_size
    if free_bytes(path) < size + RESERVE:
        raise StateUnavailable(
            f"no backup of {path} was made: its disk has {free_bytes(path) / 1e6:.0f} MB free, and "
            f"{(size + RESERVE) / 1e6:.0f} MB are needed."
        )
    with _alone(target.with_name(target.name + ".partial")) as partial:
        with translating(path):
            events = _copy(path, partial, thorough=thorough)
        partial.replace(target)
        sync(target.parent)
    return Backup(target, events, time.monotonic() - began)


@contextmanager
def _alone(partial: Path) -> Iterator[Path]:
    """Yield an empty file that no other process writes to; it is removed afterwards unless it was renamed.

    Raises:
        StateUnavailable: another process is writing it.
    """
    file = os.open(partial, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Between opening and locking, another process may have renamed the file into the backup's place.
            mine = os.path.samestat(os.fstat(file), partial.stat())
        except (BlockingIOError, FileNotFoundError):
            mine = False
        if not mine:
            raise StateUnavailable(f"no backup was made: another process is writing {partial}.")
        os.ftruncate(file, 0)
        try:
            yield partial
        finally:
            if partial.exists() and os.path.samestat(os.fstat(file), partial.stat()):
                partial.unlink()
    finally:
        os.close(file)


def _copy(path: Path, partial: Path, *, thorough: bool) -> int:
    """Copy, check, and flush to the disk; return the number of the newest event."""
    with closing(connect(path)) as source, closing(connect(partial)) as copy:
        copy.execute("PRAGMA synchronous=OFF")
        # All pages in one step: in several, each commit of another connection would start it over.
        source.backup(copy)
        # One file, without the log beside it that the copied header asks for.
        copy.execute("PRAGMA journal_mode=DELETE")
        fault = first_fault(copy, thorough=thorough)
        if fault is not None:
            raise damaged(path, fault)
        events = last_event(copy)
    sync(partial)
    return events


def compact(path: Path) -> None:
    """Rewrite a database without free pages, and empty its write-ahead log.

    A deleted text stays in free pages, in gaps of pages that were split, and in the log. SQLite's `secure_delete` would
    overwrite what is deleted from now on, but not what earlier edits and moved rows left behind.

    Raises:
        StateUnavailable: another process uses it, or the disk has no room for a second copy.
        StateCorrupted: it is damaged.
    """
    if free_bytes(path) < 2 * path.stat().st_size:
        raise StateUnavailable(f"{path} cannot be rewritten: its disk has no room for two copies of it.")
    with translating(path), closing(connect(path)) as connection:
        connection.execute("VACUUM")
        busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    if busy:
        raise StateUnavailable(f"the log beside {path} could not be emptied: another process reads the database.")


def sync(path: Path) -> None:
    """Flush a file or folder to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Backups:
    """When backups of an open database are made: after a commit that finds one due, in a thread of its own."""

    def __init__(
        self, path: Path, *, new: bool, every: float = EVERY, first: float = FIRST, share: float = MOST_SHARE
    ) -> None:
        """Schedule the backups of a database.

        Args:
            path: its file.
            new: whether it was just created, so that there is nothing worth a backup yet.
            every: seconds between backups.
            first: seconds until the first one of a new database.
            share: share of the time that copying may take.
        """
        self._path = path
        self._every, self._share = every, share
        self._due = time.monotonic() + (first if new else self._wait())
        self._busy = threading.Lock()
        self._thread: threading.Thread | None = None

    def after_commit(self) -> None:
        """Start a backup if one is due; otherwise it costs only a look at the clock."""
        if time.monotonic() < self._due or not self._busy.acquire(blocking=False):
            return
        self._due = time.monotonic() + self._every
        try:
            self._thread = threading.Thread(target=self._in_thread, name="state backup")
            self._thread.start()
        except RuntimeError as error:  # no thread can be started now
            self._busy.release()
            _LOG.warning("the database was not backed up: %s", error)

    def now(self) -> Backup:
        """Make a backup at once, or after the one that is in progress."""
        with self._busy:
            return self._make()

    def wait(self) -> None:
        """Return when no backup is in progress."""
        if self._thread is not None:
            self._thread.join()

    def _in_thread(self) -> None:
        try:
            self._make()
        except (BotError, OSError, sqlite3.Error) as error:
            _LOG.warning("the database was not backed up: %s", error)
        finally:
            self._busy.release()

    def _make(self) -> Backup:
        made = back_up(self._path)
        self._due = time.monotonic() + max(self._every, made.seconds / self._share)
        return made

    def _wait(self) -> float:
        """Return the seconds until the present backup is due for renewal; one from the future is due now."""
        try:
            age = time.time() - backup_path(self._path).stat().st_mtime
        except OSError:
            return 0.0
        return self._every - age if 0 <= age < self._every else 0.0
