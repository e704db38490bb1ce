"""Changes of an open page, as server-sent events: only the parts that have changed, and not without a pause."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Sequence

from markupsafe import escape

from bot.web.rendering import Page, Part
from bot.web.shelf import OLDEST
from bot.web.sources import Version
from state.errors import BotError

PAUSE = 0.2
"""Seconds between two looks at whether something was written."""
REST = 2.0
"""Between two readings of a page, as a multiple of the processor's time that one took: looking costs a third of a core."""
MOST_STREAMS = 24
"""Open pages; browsers that ask for more are asked to come back."""
_LINE_END = re.compile(r"\r\n|\r|\n")
_HEARTBEAT = b": \n\n"


async def changes(read: Callable[[], Page], version: Callable[[], Version]) -> AsyncIterator[bytes]:
    """Yield the events of a page: first all parts, then those that change; a comment where none does.

    Both the page and its version, which differs once something was written, are read in a thread.
    """
    sent: dict[str, str] = {}
    while True:
        seen, parts, took = await asyncio.to_thread(_look, read, version)
        changed = [part for part in parts if sent.get(part.id) != part.digest]
        sent |= {part.id: part.digest for part in changed}
        yield event(changed) if changed else _HEARTBEAT
        await asyncio.sleep(REST * took)
        for _ in range(round(OLDEST / PAUSE)):
            if await asyncio.to_thread(_version, version) != seen:
                break
            await asyncio.sleep(PAUSE)


def _look(read: Callable[[], Page], version: Callable[[], Version]) -> tuple[Version | None, list[Part], float]:
    """Return a page's version, its parts and its state (of one that cannot be read now, only why), and the seconds it took."""
    seen, began = _version(version), time.thread_time()
    try:
        parts = [*read().parts, Part("state", "connected")]
    except BotError as error:
        parts = [Part("state", str(escape(f"cannot be read: {error}")))]
    return seen, parts, time.thread_time() - began


def _version(version: Callable[[], Version]) -> Version | None:
    try:
        return version()
    except BotError:
        return None


def event(parts: Sequence[Part]) -> bytes:
    """Return one event that puts parts in their places.

    Every line of a text becomes a line of data, whichever way it ends: no text can begin a field of its own.
    """
    markup = "\n".join(
        f'<hx-partial hx-target="#{part.id}" hx-swap="innerMorph">{part.markup}</hx-partial>' for part in parts
    )
    return "".join(f"data: {line}\n" for line in _LINE_END.split(markup)).encode(errors="replace") + b"\n"
