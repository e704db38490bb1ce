"""Changes of an open page, as server-sent events: only the parts that have changed, at most once a second."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TypeVar

from bot.web.rendering import Page, Part
from bot.web.sources import Version

PAUSE = 0.5
"""Seconds between two looks at whether something was written."""
OLDEST = 15.0
"""Seconds after which a page is sent its changes even if nothing was written: it says how long ago things were."""
MOST_STREAMS = 24
"""Open pages; browsers that ask for more are asked to come back."""
_LINE_END = re.compile(r"\r\n|\r|\n")
_HEARTBEAT = b": \n\n"

T = TypeVar("T")


async def changes(read: Callable[[], Page], version: Callable[[], Version]) -> AsyncIterator[bytes]:
    """Yield the events of a page: first all parts, then those that change; a comment where none does.

    Args:
        read: returns the page as it is now; called in a thread.
        version: returns what differs once something was written; called in a thread.
    """
    sent: dict[str, str] = {}
    while True:
        seen = await asyncio.to_thread(version)
        shown = await asyncio.to_thread(read)
        changed = [part for part in shown.parts if sent.get(part.id) != part.digest]
        sent = {part.id: part.digest for part in shown.parts}
        yield event(changed) if changed else _HEARTBEAT
        waited = 0.0
        while waited < OLDEST:
            await asyncio.sleep(PAUSE)
            waited += PAUSE
            if waited >= 2 * PAUSE and await asyncio.to_thread(version) != seen:
                break


def event(parts: Sequence[Part]) -> bytes:
    """Return one event that puts parts in their places.

    Every line of a text becomes a line of data, whichever way it ends: no text can begin a field of its own.
    """
    markup = "\n".join(
        f'<hx-partial hx-target="#{part.id}" hx-swap="innerMorph">{part.markup}</hx-partial>' for part in parts
    )
    return "".join(f"data: {line}\n" for line in _LINE_END.split(markup)).encode(errors="replace") + b"\n"
