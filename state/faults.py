"""Faults: SQLite's errors, translated into ours, which state what is wrong with a database file and what to do."""

import errno
import glob
import os
import shlex
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from state.errors import BotError, StateCorrupted, StateUnavailable

BACKUPS = "backups"
"""The folder beside a database that holds its daily backups."""
NEARLY_FULL = 1_000_000
"""Free bytes below which an I/O error is taken for a full disk: SQLite reports some full disks as I/O errors."""

# In SQLite's extended result codes (`<sqlite3.h>`) the lowest byte is the class of error.
_CLASS = 0xFF


def find_backups(path: Path) -> list[Path]:
    """Return the daily backups of a database, the oldest first."""
    return sorted((path.parent / BACKUPS).glob(f"{glob.escape(path.stem)}-????-??-??{path.suffix}"))


def free_bytes(path: Path) -> int:
    """Return the bytes still free on the disk of a file in an existing folder."""
    return shutil.disk_usage(path.parent).free


def damaged(path: Path, detail: str) -> StateCorrupted:
    """Return the error for a damaged database, which names the damage, the newest backup and how to put it back."""
    return StateCorrupted(f"the database {path} is damaged ({detail}). {restore_advice(path)}")


def restore_advice(path: Path) -> str:
    """Return what to do about a damaged database, in a sentence."""
    backups, name = find_backups(path), path.name
    if not backups:
        return f"There is no backup in {path.parent / BACKUPS}: move the database away and start again."
    # A log that stayed would be written into the copy.
    return (
        f"Stop the bot, move {name}, {name}-wal and {name}-shm out of the folder, then run "
        f"`cp -p {shlex.quote(str(backups[-1]))} {shlex.quote(str(path))}`."
    )


def translated(error: BaseException, path: Path) -> BotError | None:
    """Return our error for one that SQLite raised on a database file, or None if it is no fault of the file.

    The classes are those of https://www.sqlite.org/rescode.html.
    """
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return None
    match code & _CLASS:
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return damaged(path, str(error))
        case sqlite3.SQLITE_FULL:
            return _full(path)
        case sqlite3.SQLITE_IOERR:
            return _io_error(error, path)
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StateUnavailable(
                f"the database {path} is locked: another program is writing to it. Nothing was written. Stop that program "
                "or wait until it is done, then continue."
            )
        case sqlite3.SQLITE_CANTOPEN:
            return _cannot_open(path)
        case sqlite3.SQLITE_READONLY:
            return _read_only(code, path)
        case _:
            return None


@contextmanager
def translating(path: Path) -> Iterator[None]:
    """Translate SQLite's errors on a database file by `translated`."""
    try:
        yield
    except sqlite3.Error as error:
        if mapped := translated(error, path):
            raise mapped from error
        raise


def _full(path: Path) -> StateUnavailable:
    return StateUnavailable(
        f"the disk that holds {path} is full ({free_bytes(path) / 1e6:.1f} MB free), or the file has reached its size limit. "
        "Nothing was written. Free some space (`bot prune` removes files of old runs), then continue."
    )


def _io_error(error: BaseException, path: Path) -> StateUnavailable:
    if path.parent.is_dir() and free_bytes(path) < NEARLY_FULL:
        return _full(path)
    name = getattr(error, "sqlite_errorname", "SQLITE_IOERR")
    return StateUnavailable(
        f"the disk of {path} failed ({error}, {name}). Nothing was written. Check the system log for disk errors."
    )


def _cannot_open(path: Path) -> StateUnavailable:
    if _descriptors_used_up():
        return StateUnavailable(
            f"the database {path} cannot be opened because all file descriptors are in use. Nothing was written. Raise "
            "the limit (`ulimit -n`, or LimitNOFILE= of the service), then continue."
        )
    return StateUnavailable(
        f"the database {path} cannot be opened: make sure that its folder exists and that this user can read and write "
        "in it."
    )


def _read_only(code: int, path: Path) -> StateUnavailable:
    if code == sqlite3.SQLITE_READONLY_DBMOVED:
        return StateUnavailable(
            f"the database {path} was moved or deleted while it was open. Nothing was written. Put it back and restart."
        )
    return StateUnavailable(
        f"the database {path} cannot be written to: make sure that this user can write to the file and its folder, and "
        "that the disk is not mounted read-only."
    )


def _descriptors_used_up() -> bool:
    """Whether this process, or the whole machine, can open no further file."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in (errno.EMFILE, errno.ENFILE)
    return False
