"""Integrity: a damaged database is refused before anything reads or writes it."""

import sqlite3
from contextlib import closing
from pathlib import Path

from state.errors import UsageError
from state.faults import damaged, find_backups, translated


def ensure_sound(path: Path, *, busy_seconds: float = 10.0) -> None:
    """Check a database file before it is opened; a file that does not exist yet is sound.

    Every page is read and its structure checked (`PRAGMA quick_check`: about half a second for 100 MB in the page cache).
    Flipped bits within a value are not found: bodies are checked by their hash when they are read.

    Raises:
        UsageError: it is not a database, and never was one of ours.
        StateCorrupted: it is damaged, or it is empty or missing though there is a log or a backup of it.
        StateUnavailable: it cannot be opened now.
    """
    if not path.exists() or path.stat().st_size == 0:
        # SQLite would start a new database, and drop what the write-ahead log still holds.
        log = path.with_name(path.name + "-wal")
        if find_backups(path) or (log.exists() and log.stat().st_size > 0):
            raise damaged(path, "it is empty" if path.exists() else "it is gone")
        return
    try:
        with closing(connect(path, busy_seconds)) as connection:
            fault = first_fault(connection)
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB and not find_backups(path):
            raise UsageError(f"{path} is not a SQLite database.") from error
        if mapped := translated(error, path):
            raise mapped from error
        raise
    if fault is not None:
        raise damaged(path, fault)


def connect(path: Path, busy_seconds: float = 10.0) -> sqlite3.Connection:
    """Return a plain connection that starts no transactions by itself.

    The file itself must never be opened beside SQLite: closing it would drop the locks that this process holds through
    SQLite (https://www.sqlite.org/howtocorrupt.html § 2.2).
    """
    return sqlite3.connect(path, timeout=busy_seconds, isolation_level=None, check_same_thread=False)


def first_fault(connection: sqlite3.Connection) -> str | None:
    """Return the first fault in the structure of a database in SQLite's words, None if it is sound."""
    connection.execute("PRAGMA cell_size_check=ON")
    verdict = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    # SQLite heads some findings with "*** in database main ***".
    return None if verdict == "ok" else verdict.replace("*** in database main ***", "").strip().splitlines()[0]
