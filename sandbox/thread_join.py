"""Waiting for what runs in a thread, which must have ended before its task may end."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def join_thread(running: "asyncio.Future[T]", stop: Callable[[], object] = lambda: None) -> T:
    """Return its result; when the task is cancelled, have it stop, wait for that, and re-raise."""
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        stop()
        while not running.done():
            try:
                await asyncio.wait({running})
            except asyncio.CancelledError:
                continue  # cancelled again: it must be over nevertheless
        if not running.cancelled():
            running.exception()  # nobody else will ask for it
        raise
