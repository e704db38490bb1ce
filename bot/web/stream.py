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

PAUSE = 0.4
"""Seconds between two looks at whether something was written, and two events at least."""
MOST_STREAMS = 24
"""Open pages; browsers that ask for more are asked to come back."""
_LINE_END = re.compile(r"\r\n|\r|\n")
_HEARTBEAT = b": \n\n"


async def changes(read: Callable[[], Page], version: Callable[[], Version]) -> AsyncIterator[bytes]:
    """Yield the events of a page: first all parts, then those that change; a comment where none does.

    Args:
        read: returns the page as it is now; called in a thread.
        version: returns what differs once something was written; called in a thread.
    """
    sent: dict[str, str] = {}
    while True:
        began = time.monotonic()
        seen, parts = await asyncio.to_thread(_look, read, version)
        # A page that takes long to read is read less often, so that looking costs at most a third of a core.
        pause = max(PAUSE, 2 * (time.monotonic() - began))
        changed = [part for part in parts if sent.get(part.id) != part.digest]
        sent |= {part.id: part.digest for part in changed}
        yield event(changed) if changed else _HEARTBEAT
        for _ in range(max(1, round(OLDEST / pause))):
            await asyncio.sleep(pause)
            if await asyncio.to_thread(_version, version) != seen:
                break


def _look(read: Callable[[], Page], version: Callable[[], Version]) -> tuple[Version | None, list[Part]]:
    """Return a page's parts and its state; of one that cannot be read now, only why."""
    seen = _version(version)
    try:
        return seen, [*read().parts, Part("state", "live")]
    except BotError as error:
        return seen, [Part("state", str(escape(f"cannot be read: {error}")))]


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
