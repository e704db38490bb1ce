"""Retries after transient failures: an endpoint or an engine that does not answer, a full disk."""

import errno
import time
from collections.abc import Awaitable, Callable

from state.errors import InfrastructureFailure, ModelUnavailable, StateUnavailable

_FIRST_WAIT = 5.0
_LONGEST_WAIT = 300.0
_TRANSIENT = {errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN}
_TRIES = 5
"""Attempts at work that breaks the engine, as it may break it each time."""


def is_transient(error: BaseException) -> bool:
    """Return whether the same work may succeed later without a change."""
    if isinstance(error, OSError) and error.errno in _TRANSIENT:
        return True
    return isinstance(error, (ModelUnavailable, InfrastructureFailure))


class RetryBudget:
    """The retries of one piece of work."""

    def __init__(self, seconds: float, pause: Callable[[float], Awaitable[None]], say: Callable[[str], None]) -> None:
        """Start with no failure; work is retried for `seconds` from the first one on."""
        self._seconds = seconds
        self._pause = pause
        self._say = say
        self._since: float | None = None
        self._tries = 0

    async def wait_to_retry(self, error: Exception) -> bool:
        """Wait and return True, or False at once if the time or the attempts are used up."""
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        self._tries += 1
        if now - self._since >= self._seconds:
            return False
        is_external = isinstance(error, (ModelUnavailable, StateUnavailable, OSError))
        if not is_external and self._tries >= _TRIES:
            return False
        wait = min(_FIRST_WAIT * 2.0 ** (self._tries - 1), _LONGEST_WAIT, max(1.0, self._seconds / 2))
        self._say(f"waiting {wait:.0f} s: {error}")
        await self._pause(wait)
        return True
