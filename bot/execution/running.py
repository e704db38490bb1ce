"""Whether a run is running: its process locks its config.json, and the kernel frees the lock when that process dies."""

from collections.abc import Iterator
from contextlib import contextmanager

from bot.execution.folder import RunFolder
from sandbox.locks import is_held, lock_within_seconds
from state.errors import UsageError


@contextmanager
def running(folder: RunFolder) -> Iterator[None]:
    """Hold the run's lock, which others can see. Raises UsageError: another process runs it."""
    lock = lock_within_seconds(folder.config)
    if lock is None:
        raise UsageError(f"{folder.path} is in use by another process")
    try:
        yield
    finally:
        lock.release()


def is_running(folder: RunFolder) -> bool:
    """Return whether a living process runs it; True also if that is unknown."""
    return is_held(folder.config)
