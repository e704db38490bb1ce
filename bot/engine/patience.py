"""Trouble that may pass: an endpoint or an engine that does not answer, a full disk; work waits for it to end."""

import errno
import time
from collections.abc import Awaitable, Callable

from state.errors import InfrastructureFailure, ModelUnavailable, StateUnavailable

_FIRST_WAIT = 5.0
_LONGEST_WAIT = 300.0
_PASSING = {errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN}
_TRIES = 5
"""Tries at what our own machinery fails on: a node that breaks it each time must not be tried for ever."""


def may_pass(error: BaseException) -> bool:
    """Whether the same work may succeed later, without anybody changing it."""
    if isinstance(error, OSError) and error.errno in _PASSING:
        return True
    return isinstance(error, (ModelUnavailable, InfrastructureFailure))


class Patience:
    """How long one piece of work is tried again; each piece has its own."""

    def __init__(self, seconds: float, pause: Callable[[float], Awaitable[None]], say: Callable[[str], None]) -> None:
        """Take how long trouble may last (seconds), how to wait, and how to tell."""
        self._seconds = seconds
        self._pause = pause
        self._say = say
        self._since: float | None = None
        self._tries = 0

    async def outlasts(self, error: Exception) -> bool:
        """Wait a while, and return whether to try again: not for ever, and a failing engine only a few times."""
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        self._tries += 1
        if now - self._since >= self._seconds:
            return False
        lasting = isinstance(error, (ModelUnavailable, StateUnavailable, OSError))
        if not lasting and self._tries >= _TRIES:
            return False
        wait = min(_FIRST_WAIT * 2.0 ** (self._tries - 1), _LONGEST_WAIT, max(1.0, self._seconds / 2))
        self._say(f"waiting {wait:.0f} s, as {error}")
        await self._pause(wait)
        return True
