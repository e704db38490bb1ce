"""Whether a run goes on: whoever runs it holds a lock on its config.json, which the kernel frees when that process dies."""

from collections.abc import Iterator
from contextlib import contextmanager

from bot.execution.folder import RunFolder
from sandbox.locks import is_held, take
from state.errors import UsageError


@contextmanager
def running(folder: RunFolder) -> Iterator[None]:
    """Run a run alone, and let others see that it goes on.

    Raises:
        UsageError: another process runs it.
    """
    lock = take(folder.config)
    if lock is None:
        raise UsageError(f"{folder.path} is being run by another process")
    try:
        yield
    finally:
        lock.release()


def is_running(folder: RunFolder) -> bool:
    """Return whether a living process runs it; also true where that cannot be told."""
    return is_held(folder.config)
