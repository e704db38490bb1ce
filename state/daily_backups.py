"""Daily backups: a checked copy of the database for each day, in a folder beside it; the last few are kept."""

import re
from pathlib import Path
from typing import Any

from state.backup import Backup, back_up
from state.store import NO_RUN, Store

KEEP = 7
MOST_BYTES = 5 * 10**9
_FOLDER = "backups"


def daily_backup(store: Store, *, keep: int = KEEP, most_bytes: int = MOST_BYTES) -> Backup:
    """Copy the database for the current day of the store's clock, check the copy, and drop the oldest surplus copies.

    A second copy on a day replaces the first. It takes as long as reading and writing the whole file: call it in a
    thread.

    Args:
        store: the store whose database is copied.
        keep: how many copies are kept.
        most_bytes: size of all copies together; the newest is kept whatever its size.

    Raises:
        StateUnavailable: the disk is nearly full, or another process is making a copy; earlier copies stay.
        StateCorrupted: the database is damaged; earlier copies stay.
        OSError: the folder cannot be written.
    """
    folder = store.path.parent / _FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    file = folder / f"{store.path.stem}-{store.clock.now():%Y-%m-%d}{store.path.suffix}"
    made = back_up(store.path, file, thorough=True)
    size = file.stat().st_size
    dropped = _drop(daily_backups(store.path), file, keep, most_bytes)
    fields: dict[str, Any] = {
        "file": f"{_FOLDER}/{file.name}",
        "bytes": size,
        "events": made.events,
        "dropped": dropped,
    }
    with store.write() as tx:
        tx.record("backup.made", run_id=NO_RUN, seconds=made.seconds, **fields)
    return made


def daily_backups(path: Path) -> list[Path]:
    """Return the daily backups of a database, the oldest first."""
    name = re.compile(rf"{re.escape(path.stem)}-\d{{4}}-\d\d-\d\d{re.escape(path.suffix)}")
    folder = path.parent / _FOLDER
    return sorted(file for file in folder.iterdir() if name.fullmatch(file.name)) if folder.is_dir() else []


def drop_daily_backups(path: Path) -> int:
    """Remove all daily backups, which still hold what was removed from the database; return how many there were."""
    there = daily_backups(path)
    for file in there:
        file.unlink(missing_ok=True)
    return len(there)


def _drop(there: list[Path], newest: Path, keep: int, most_bytes: int) -> int:
    """Remove the oldest copies over the limits, but never the new one, even if the clock was set back."""
    others = [file for file in there if file != newest]
    left = most_bytes - newest.stat().st_size
    dropped = 0
    for number, file in enumerate(reversed(others), 2):
        left -= file.stat().st_size
        if number > keep or left < 0:
            file.unlink(missing_ok=True)
            dropped += 1
    return dropped
