"""Backups: a copy of the database for each day, in a folder beside it; the last few are kept."""

from contextlib import closing
from pathlib import Path

from state.errors import StateUnavailable
from state.faults import BACKUPS, damaged, find_backups, free_bytes, translating
from state.files import replacing, sync
from state.integrity import connect, first_fault
from state.store import NO_RUN, Store

_RESERVE = 256_000_000
"""Bytes that a backup leaves free on the disk."""


def back_up(store: Store, *, keep: int = 7) -> Path:
    """Copy the database for the current day of the store's clock, drop the oldest surplus copies, and return the new one.

    A second copy on a day replaces the first. No writer waits for it. It takes as long as reading and writing the whole
    file: call it in a thread.

    Raises:
        StateUnavailable: the disk is nearly full; earlier copies stay.
        StateCorrupted: the database is damaged; earlier copies stay.
        OSError: the folder cannot be written.
    """
    path, free = store.path, free_bytes(store.path)
    needed_bytes = path.stat().st_size + _RESERVE
    if free < needed_bytes:
        raise StateUnavailable(
            f"cannot back up {path}: its disk has {free / 1e6:.0f} MB free, but {needed_bytes / 1e6:.0f} MB are needed."
        )
    folder = path.parent / BACKUPS
    folder.mkdir(mode=0o700, exist_ok=True)
    copy = folder / f"{path.stem}-{store.clock.now():%Y-%m-%d}{path.suffix}"
    with replacing(copy) as partial:
        partial.unlink(missing_ok=True)
        partial.touch(mode=0o600)
        with translating(path), closing(connect(path)) as connection:
            if (fault := first_fault(connection)) is not None:
                raise damaged(path, fault)
            connection.execute("VACUUM INTO ?", (str(partial),))
        sync(partial)
    sync(folder)
    # The new copy stays even if the clock was set back.
    older = [file for file in find_backups(path) if file != copy]
    for file in older[: max(0, len(older) - keep + 1)]:
        file.unlink(missing_ok=True)
    with store.write() as tx:
        tx.record("backup.made", run_id=NO_RUN, file=f"{BACKUPS}/{copy.name}", bytes=copy.stat().st_size)
    return copy


def drop_backups(path: Path) -> int:
    """Remove all backups of a database, which hold what was removed from it since; return how many there were."""
    copies = find_backups(path)
    for file in copies:
        file.unlink(missing_ok=True)
    return len(copies)
