"""Integrity: a damaged database is refused before anything reads or writes it."""

import sqlite3
from contextlib import closing
from pathlib import Path

from state.errors import UsageError
from state.faults import backup_path, damaged, translated


def ensure_sound(path: Path, *, busy_seconds: float = 10.0) -> None:
    """Check a database file before it is opened; a file that does not exist yet is sound.

    Every page is read and its structure checked (`PRAGMA quick_check`: about half a second for 100 MB in the page cache).
    Flipped bits within a value are not found: bodies are checked by their hash when they are read.

    Raises:
        UsageError: it is not a database, and never was one of ours.
        StateCorrupted: it is damaged, empty, missing, or older than its backup.
        StateUnavailable: it cannot be opened now.
    """
    backup = backup_path(path)
    if not path.exists() or path.stat().st_size == 0:
        # SQLite would start a new database, and drop what the write-ahead log still holds.
        log = path.with_name(path.name + "-wal")
        if backup.exists() or (log.exists() and log.stat().st_size > 0):
            raise damaged(path, "it is empty" if path.exists() else "it is gone")
        return
    try:
        with closing(connect(path, busy_seconds)) as connection:
            fault = first_fault(connection)
            last = last_event(connection)
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB and not backup.exists():
            raise UsageError(f"{path} is not a SQLite database.") from error
        if ours := translated(error, path):
            raise ours from error
        raise
    if fault is not None:
        raise damaged(path, fault)
    if (behind := _events_of(backup)) > last:
        raise damaged(path, f"its newest part is lost: it has {last} events, its backup {behind}")


def connect(path: Path, busy_seconds: float = 10.0) -> sqlite3.Connection:
    """Return a plain connection that starts no transactions by itself.

    The file itself must never be opened beside SQLite: closing it would drop the locks that this process holds through
    SQLite (https://www.sqlite.org/howtocorrupt.html § 2.2).
    """
    return sqlite3.connect(path, timeout=busy_seconds, isolation_level=None, check_same_thread=False)


def first_fault(connection: sqlite3.Connection, *, thorough: bool = False) -> str | None:
    """Return the first fault in the structure of a database in SQLite's words, None if it is sound.

    Args:
        connection: to the database.
        thorough: also compare every index with its table, which takes several times as long.
    """
    connection.execute("PRAGMA cell_size_check=ON")
    check = "PRAGMA integrity_check(1)" if thorough else "PRAGMA quick_check(1)"
    found = str(connection.execute(check).fetchone()[0])
    # SQLite heads some findings with "*** in database main ***".
    return None if found == "ok" else found.replace("*** in database main ***", "").strip().splitlines()[0]


def last_event(connection: sqlite3.Connection) -> int:
    """Return the number of the file's newest event, which only grows; 0 if there is none."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'event'").fetchone() is None:
        return 0
    return int(connection.execute("SELECT coalesce(max(id), 0) FROM event").fetchone()[0])


def _events_of(backup: Path) -> int:
    """Return the newest event's number in a backup; 0 if the backup is missing or cannot be read."""
    if not backup.exists():
        return 0
    try:
        with closing(connect(backup)) as connection:
            return last_event(connection)
    except sqlite3.Error:
        return 0
