"""The daemon's disk: bounded by removing what nobody will ask for, and trouble where there is too little all the same."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

from bot.execution.disk_space import DiskSettings, free_bytes
from bot.execution.prune import Prunable, prune
from bot.execution.spare import spare_files
from bot.notify.events.base import Event
from bot.notify.events.trouble import DiskLow
from state.backup import Backup
from state.daily import KEEP, MOST_BYTES, daily_backup
from state.errors import StateCorrupted, StateUnavailable
from state.store import NO_RUN, Store, Transaction

__all__ = ["Begin", "Bounded", "End", "back_up_daily", "bound_disk"]

_ENOUGH = 1.25
"""Of what is wanted, before a trouble is over: else a disk at its limit would be told of again and again."""
_DISK, _BACKUP = "disk", "backup"


class Begin(Protocol):
    """What begins a trouble that needs a person; see `bot.daemon.trouble`."""

    def __call__(self, tx: Transaction, key: str, sentence: str, event: Event | None = None) -> object:
        """Write it down, and tell the owner where there is an event; one that has begun already is left as it is."""


End = Callable[[Transaction, str], object]
"""Ends a trouble by its key; where there is none it does nothing."""


@dataclass(frozen=True)
class Bounded:
    """What went, and what is free now."""

    removed: tuple[Prunable, ...]
    free_bytes: int
    low: bool
    """Whether there is less than a run wants."""

    @property
    def bytes(self) -> int:
        """That the disk got back."""
        return sum(one.bytes for one in self.removed)


def bound_disk(settings: DiskSettings, folder: Path, store: Store, now: datetime, begin: Begin, end: End) -> Bounded:
    """Remove what is old and not needed any more; where the disk is nearly full, also what is not so old.

    What goes: what killed runs left; the views of runs that ended; predictions and submissions of executions whose nodes
    are neither among the best of their run, nor sent, nor worked on. It takes long where there is much: call it in a
    thread.

    Args:
        settings: `[disk]` of bot.toml.
        folder: the daemon's.
        store: its database.
        now: the machine's time, by which files are dated, whatever clock the daemon works by.
        begin: begins the trouble that there is little room.
        end: ends it.
    """
    runs = folder / "runs"
    removed = list(_removed(store, runs, settings.keep_days, now))
    if _is_low(folder, settings):
        removed += _removed(store, runs, 0.0, now)
    free = free_bytes(folder)
    with store.write() as tx:
        if removed:
            freed = sum(one.bytes for one in removed)
            tx.record("disk.bounded", run_id=NO_RUN, bytes=freed, places=len(removed), free_bytes=free)
        _tell(tx, settings, folder, free, begin, end)
    return Bounded(tuple(removed), free, _is_low(folder, settings))


def back_up_daily(
    store: Store, begin: Begin, end: End, *, keep: int = KEEP, most_bytes: int = MOST_BYTES
) -> Backup | None:
    """Make the day's backup; None where it could not be made, which is a trouble until one can.

    Raises:
        StateCorrupted: the database is damaged, which no later backup will mend; the trouble is written down where it can be.
    """
    try:
        made = daily_backup(store, keep=keep, most_bytes=most_bytes)
    except (StateUnavailable, OSError) as error:
        _not_backed_up(store, begin, error)
        return None
    except StateCorrupted as error:
        with contextlib.suppress(StateCorrupted, StateUnavailable):
            _not_backed_up(store, begin, error)
        raise
    with store.write() as tx:
        end(tx, _BACKUP)
    return made


def _not_backed_up(store: Store, begin: Begin, error: Exception) -> None:
    with store.write() as tx:
        tx.record("backup.failed", run_id=NO_RUN, error=str(error))
        begin(tx, _BACKUP, f"there is no backup of this day: {error}")


def _removed(store: Store, runs: Path, keep_days: float, now: datetime) -> Iterator[Prunable]:
    yield from (one for one in prune(runs, keep_days, now, dry_run=False))
    with store.read() as session:
        spare = list(spare_files(session, runs, now - timedelta(days=keep_days)))
    for path in spare:
        with contextlib.suppress(FileNotFoundError):
            size = path.lstat().st_blocks * 512
            path.unlink()
            yield Prunable("files", str(path), size, f"removed {path}")


def _is_low(folder: Path, settings: DiskSettings) -> bool:
    return free_bytes(folder) < settings.free_gb * 1e9


def _tell(tx: Transaction, settings: DiskSettings, folder: Path, free: int, begin: Begin, end: End) -> None:
    wanted, there = settings.free_gb, free / 1e9
    if there < wanted:
        sentence = (
            f"the disk of {folder} has {there:.1f} GB free, and {wanted:g} GB are wanted (free_gb under [disk] in bot.toml): "
            "make room, or give it a larger disk"
        )
        begin(tx, _DISK, sentence, DiskLow(tx.now(), str(folder), there, wanted))
    elif there >= wanted * _ENOUGH:
        end(tx, _DISK)
