"""Opening a database that another process writes: to read alone, without a check, a change or a lock."""

from pathlib import Path

from state import schema
from state.backup import Backups
from state.clock import Clock
from state.engine import reading
from state.errors import UsageError
from state.redaction import Redactor
from state.store import Store

__all__ = ["open_to_read"]

_BUSY_SECONDS = 5.0


def open_to_read(path: Path, clock: Clock) -> Store:
    """Open a database file as a store that refuses to write.

    It takes as long for a large file as for a small one: whoever writes to it has checked it.

    Raises:
        UsageError: it is not there, is no database of ours, or another version of the program made it.
        StateCorrupted: it is damaged.
        StateUnavailable: it cannot be used now.
    """
    if not path.is_file():
        raise UsageError(f"there is no database {path}")
    reader = reading(path, busy_seconds=_BUSY_SECONDS)
    try:
        with reader.connect() as connection:
            schema.ensure_ours(connection)
    except BaseException:
        reader.dispose()
        raise
    return Store(path, reader, reader, clock, Backups(path, new=False), Redactor())
