"""A waiting line among processes: first come, first served, and whoever dies leaves it."""

import contextlib
import itertools
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sandbox.locks import Lock, is_held, take

__all__ = ["Place", "WaitingLine"]


class Place:
    """Somebody's place in the line: a file whose name says since when, locked while its owner waits."""

    def __init__(self, ticket: Lock, prefix: str) -> None:
        self._ticket = ticket
        self._prefix = prefix

    def is_first(self) -> bool:
        """Return whether nobody who is alive came before."""
        mine = self._ticket.path
        for name in sorted(os.listdir(mine.parent)):  # noqa: PTH208 - names are enough
            if not name.startswith(self._prefix) or name >= mine.name:
                continue
            if is_held(mine.parent / name):
                return False
            with contextlib.suppress(OSError):  # another user's, or somebody else was quicker
                (mine.parent / name).unlink()
        return True


class WaitingLine:
    """One line in a folder that may hold others."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._prefix = f"line-{name}-"
        self._turns = itertools.count()

    @contextmanager
    def place(self) -> Iterator[Place]:
        """Stand in the line while this lasts.

        Raises:
            OSError: The folder does not allow it.
        """
        ticket = None
        while ticket is None:  # whoever looks along the line may just hold the file, as it was not locked yet
            at = f"{time.monotonic_ns():020d}-{os.getpid()}-{next(self._turns)}"
            ticket = take(self._folder / (self._prefix + at))
        try:
            yield Place(ticket, self._prefix)
        finally:
            ticket.release(remove=True)
