"""Restore: put a database's backup in its place; the files that were there are kept aside."""

import fcntl
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from state.backup import sync
from state.errors import StateCorrupted, UsageError
from state.faults import backup_path
from state.integrity import connect, ensure_sound, first_fault

_LOCK_BYTES = 0x40000000
"""Offset at which SQLite locks a file (https://www.sqlite.org/fileformat2.html § 1.5); each open connection holds one."""
_LOCK_LENGTH = 512


@dataclass(frozen=True)
class Restored:
    """The result of a restore."""

    path: Path
    aside: tuple[Path, ...]
    """The files that were there before, under their new names."""
    made_at: datetime
    """When the backup was made."""
    events: int
    """Number of events in the restored database."""
    last_event_at: datetime | None
    """Time of the newest of them."""


def restore(path: Path, now: datetime, *, force: bool = False, backup: Path | None = None) -> Restored:
    """Put a backup of a database in its place; the backup itself stays.

    To be called in a process that does not have the database open. If it is killed, it can be called again: until it is
    done the database is refused as missing.

    Args:
        path: the database.
        now: the time in the names of the files kept aside.
        force: also where the database is sound.
        backup: such as a daily one; None: the automatic one beside it.

    Raises:
        UsageError: there is no backup, the database is in use, or is sound (without `force`).
        StateCorrupted: the backup is damaged too.
    """
    other, backup = backup is not None, backup or backup_path(path)
    if not backup.is_file():
        raise UsageError(f"there is no backup of {path}: {backup} is not there")
    events, newest = _look(backup)
    _ensure_unused(path)
    if not force and _sound(path):
        raise UsageError(
            f"{path} is sound, and newer than its backup: nothing was changed (--force restores it nevertheless)"
        )
    made_at = datetime.fromtimestamp(backup.stat().st_mtime, UTC)
    partial = path.with_name(path.name + ".restored")
    shutil.copyfile(backup, partial)
    sync(partial)
    # With an automatic backup newer than it, the restored database would be refused as too old.
    aside = _keep_aside(path, now, ("", "-wal", "-shm", *((".backup",) if other else ())))
    partial.replace(path)
    return Restored(path, aside, made_at, events, newest)


def _look(backup: Path) -> tuple[int, datetime | None]:
    """Check a backup; return its number of events and the time of the newest."""
    try:
        with closing(connect(backup)) as connection:
            fault = first_fault(connection)
            row = connection.execute("SELECT count(*), max(id) FROM event").fetchone()
            newest = connection.execute("SELECT at FROM event WHERE id = ?", (row[1],)).fetchone()
    except sqlite3.Error as error:
        raise StateCorrupted(f"the backup {backup} is damaged too ({error}); nothing was changed.") from error
    if fault is not None:
        raise StateCorrupted(f"the backup {backup} is damaged too ({fault}); nothing was changed.")
    return int(row[0]), None if newest is None else datetime.fromisoformat(newest[0]).replace(tzinfo=UTC)


def _ensure_unused(path: Path) -> None:
    if not path.exists():
        return
    with path.open("rb+") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, _LOCK_LENGTH, _LOCK_BYTES)
        except OSError as error:
            raise UsageError(f"{path} is in use: stop the bot that has it open first") from error


def _sound(path: Path) -> bool:
    try:
        ensure_sound(path)
    except (StateCorrupted, UsageError):
        return False
    return True


def _keep_aside(path: Path, now: datetime, suffixes: tuple[str, ...]) -> tuple[Path, ...]:
    """Rename the database and the files beside it, never over files that were kept before."""
    stamp, number = f"{now:%Y%m%dT%H%M%SZ}", 1
    while path.with_name(f"{path.name}.damaged-{stamp}-{number}").exists():
        number += 1
    kept = path.with_name(f"{path.name}.damaged-{stamp}-{number}")
    moved = []
    # The log and its index take the database's new name, so that they still belong together.
    for suffix in suffixes:
        there = path.with_name(path.name + suffix)
        if there.exists():
            moved.append(there.rename(kept.with_name(kept.name + suffix)))
    return tuple(moved)
