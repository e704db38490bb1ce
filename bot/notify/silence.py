"""Keeps what libraries log while they hold an address out of every log, and what they warn of for us to read."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["silenced"]

_LOGGERS = (
    "apprise",
    "urllib3.connection",
    "urllib3.connectionpool",
    "urllib3.util.retry",
    "requests",
    "charset_normalizer",
)
"""Those that would write an address, or its path, into a log at some level."""
_warned: ContextVar[list[str] | None] = ContextVar("warned", default=None)


@contextmanager
def silenced() -> Iterator[list[str]]:
    """Give the list of what is warned of while this lasts, in this context alone; none of it reaches a log.

    What is on the list may hold secrets: it is for looking up a status in, never for showing.
    """
    for name in _LOGGERS:
        # Adding what is there already does nothing.
        logging.getLogger(name).addFilter(_FILTER)
    found: list[str] = []
    token = _warned.set(found)
    try:
        yield found
    finally:
        _warned.reset(token)


class _Filter(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        """Let nothing through that is logged within `silenced`."""
        warned = _warned.get()
        if warned is None:
            return True
        if record.levelno >= logging.WARNING:
            warned.append(record.getMessage())
        return False


_FILTER = _Filter()
