"""Responses of strangers' servers: at most one content coding, bounded while unpacked, never too slow."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2

CODING = "gzip"
"""The one content coding that is requested and accepted; several would multiply what a few kilobytes unpack to."""
SLOWEST = 20_000
"""Bytes a second of a download; a slower one would never end."""
WINDOW = 60.0
"""Seconds over which that is measured."""
ATTEMPTS = 5
"""Most attempts in a row that bring little of a file to its place."""
RETRY_STATUSES = (408, 425, 429, 500, 502, 503, 504)
"""Statuses after which the same request may succeed."""
_MOST_CONTAINERS = 200_000
_MOST_VALUES = 2_000_000
"""Lists and objects, and commas, in a JSON text: more would block the loop for seconds and take gigabytes."""
MOST_LEVELS = 100
"""Lists and objects within one another in a JSON text: whatever walks through a value may call itself so often."""


class NoJson(ValueError):
    """A text is not JSON."""


class TransientFailure(Exception):
    """An attempt failed that may succeed next time."""


async def parts(response: httpx2.Response, limit: int) -> AsyncGenerator[bytes, None]:
    """Yield the body of an open stream, unpacked; other tasks may run after each part of at most a megabyte.

    Raises:
        DecodingError: its coding is not `CODING`, or there are several; it is damaged, or has more bytes.
        Also what httpx2 raises if the connection breaks.
    """
    codings = _codings(response)
    if codings not in ([], [CODING]):
        raise httpx2.DecodingError(
            f"its body is encoded as {', '.join(codings)[:100]!r}, but only a single {CODING} encoding is accepted"
        )
    length = 0
    async for part in response.aiter_bytes():
        length += len(part)
        if length > limit:
            raise httpx2.DecodingError(f"its body has more than {limit:,} bytes")
        yield part
        await asyncio.sleep(0)


async def receive(response: httpx2.Response, limit: int) -> bytes:
    """Return a body, unpacked; the arguments and errors are those of `parts`."""
    async with aclosing(parts(response, limit)) as pieces:
        return b"".join([part async for part in pieces])


async def steady_chunks(response: httpx2.Response, window: float = WINDOW) -> AsyncIterator[bytes]:
    """Yield a download's bytes as they arrive, in any `window` of seconds at least `SLOWEST` a second.

    Raises DecodingError: it is encoded; ReadTimeout: it is too slow. Also what httpx2 raises if the connection breaks.
    """
    if _codings(response):
        raise httpx2.DecodingError("it has an encoding that was not requested")
    now = asyncio.get_running_loop().time
    start, received = now(), 0
    async for part in response.aiter_bytes():
        received += len(part)
        if (seconds := now() - start) >= window:
            if received < SLOWEST * seconds:
                raise httpx2.ReadTimeout(f"only {received:,} bytes arrived in {seconds:.0f} s")
            start, received = now(), 0
        yield part


def _codings(response: httpx2.Response) -> list[str]:
    codings = (coding.strip().lower() for coding in response.headers.get_list("Content-Encoding", split_commas=True))
    return [coding for coding in codings if coding not in ("", "identity")]


def read_json(text: str) -> Any:
    """Return the value of a JSON text.

    Raises NoJson: it is not JSON; ValueError: it has more lists, objects, values or levels than any honest answer.
    """
    if text.count("[") + text.count("{") > _MOST_CONTAINERS or text.count(",") > _MOST_VALUES:
        raise ValueError("it has too many parts")
    too_deep = ValueError(f"it is nested more than {MOST_LEVELS} levels deep")
    try:
        value = json.loads(text)
    except RecursionError:
        raise too_deep from None
    except ValueError as error:
        raise NoJson(str(error)) from None
    containers = [value]
    for _ in range(MOST_LEVELS):
        inner = (
            container.values() if isinstance(container, dict) else container
            for container in containers
            if isinstance(container, dict | list)
        )
        containers = [child for values in inner for child in values if isinstance(child, dict | list)]
        if not containers:
            return value
    raise too_deep


def retry_after(value: str | None, now: datetime) -> float | None:
    """Return the seconds in a Retry-After header, which may hold a number or a date; None if it holds neither."""
    if not value:
        return None
    if re.fullmatch(r"\d{1,9}(\.\d+)?", value.strip()):
        return float(value)
    try:
        time = datetime.fromisoformat(value) if value[:4].isdigit() else parsedate_to_datetime(value)
    except (ValueError, OverflowError):  # a year of twenty digits
        return None
    return max(0.0, (time.replace(tzinfo=time.tzinfo or UTC) - now).total_seconds())
