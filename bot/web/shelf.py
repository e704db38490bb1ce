"""Pages as they were last read: an open page asks again and again, and a new one need not wait until all is read."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from bot.web.rendering import Page
from bot.web.sources import Version

MOST = 64
"""Pages that are kept."""
STALE = 60.0
"""Seconds for which a page is shown as it was last read; its stream brings it up to date within a second."""
OLDEST = 15.0
"""Seconds after which a page is read anew even if nothing was written: it says how long ago things were."""


@dataclass
class _Kept:
    """One page; `at` is by the process's clock."""

    turn: threading.Lock = field(default_factory=threading.Lock)
    page: Page | None = None
    version: Version = ()
    at: float = -STALE


class Shelf:
    """Keeps pages by address; of several threads that want the same page only one reads it."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}
        self._lock = threading.Lock()

    def last(self, address: str, read: Callable[[], Page], version: Callable[[], Version]) -> Page:
        """Return a page as it was a moment ago, or as it is now if nobody has looked at it for a while."""
        kept = self._of(address)
        if kept.page is not None and time.monotonic() - kept.at < STALE:
            return kept.page
        return self.now(address, read, version)

    def now(self, address: str, read: Callable[[], Page], version: Callable[[], Version]) -> Page:
        """Return a page as it is now; one of which nothing has changed is not read again."""
        kept, seen = self._of(address), version()
        with kept.turn:
            if kept.page is None or kept.version != seen or time.monotonic() - kept.at >= OLDEST:
                kept.page, kept.version, kept.at = read(), seen, time.monotonic()
            return kept.page

    def clear(self) -> None:
        """Forget all pages: who has done something sees at once what came of it."""
        with self._lock:
            self._kept.clear()

    def _of(self, address: str) -> _Kept:
        with self._lock:
            kept = self._kept.pop(address, None) or _Kept()
            self._kept[address] = kept
            while len(self._kept) > MOST:
                del self._kept[next(iter(self._kept))]
        return kept
