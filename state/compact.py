"""Compacting: a database file written anew, so that nothing of what was deleted stays in it."""

import sqlite3
from contextlib import closing
from pathlib import Path

from state.checking import connect
from state.errors import StateUnavailable
from state.faults import free_bytes, translated

__all__ = ["compact"]


def compact(path: Path) -> None:
    """Write a database anew without free pages, and empty its write-ahead log.

    Deleting leaves a text in free pages, in gaps of pages that were split, and in the log. SQLite's `secure_delete` would
    overwrite what is deleted from now on, but neither what earlier edits left nor what moving rows leaves behind.

    Raises:
        StateUnavailable: somebody else uses it, or there is no room for it twice.
        StateCorrupted: it is damaged.
    """
    if free_bytes(path) < 2 * path.stat().st_size:
        raise StateUnavailable(f"{path} cannot be written anew: its disk has no room for two copies of it.")
    try:
        with closing(connect(path)) as connection:
            connection.execute("VACUUM")
            busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    except sqlite3.Error as error:
        ours = translated(error, path)
        if ours is None:
            raise
        raise ours from error
    if busy:
        raise StateUnavailable(f"the log beside {path} could not be emptied: another process reads the database.")
