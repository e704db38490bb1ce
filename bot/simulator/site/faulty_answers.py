"""Faulty answers: each fault of a request as a client meets it."""

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from bot.simulator.site.faults import Fault, Faults
from bot.simulator.site.wire import ApiError

Act = Callable[[], Awaitable[Response]]

_HTML = "<!doctype html><html><head><title>Kaggle: Your Home for Data Science</title></head><body></body></html>"
_KERNEL_ERROR = "Maximum batch CPU session count of 5 reached."


async def faulty_answer(fault: Fault, act: Act, request: Request, faults: Faults, now: datetime, turn: int) -> Response:
    """Return the answer to a request with a fault; `act` carries the request out, and answers without the fault.

    `turn` is the number of the request among those to its method, from 1: it says which field is null.
    """
    if fault.kind == "stall":
        return await _stall(fault, act, request)
    if fault.kind == "null-field":
        return _with_null(await act(), turn)
    if fault.acts:
        with suppress(ApiError):
            await act()
    if fault.kind == "rate-limit":
        return _too_many(fault, faults.remaining(fault, now))
    if fault.kind == "cut":
        return Cut(begun=fault.acts)
    if fault.kind == "html":
        return HTMLResponse(_HTML)
    if fault.kind == "kernel-error":
        return JSONResponse({"error": _KERNEL_ERROR})
    raise ApiError(503, "Service unavailable") if fault.kind == "unavailable" else ApiError(500, "Internal error")


def _with_null(answer: Response, turn: int) -> Response:
    """Return an answer in which one field is null, or absent, in one place; each field has its turn."""
    if answer.status_code != 200 or answer.media_type != "application/json":
        return answer
    body = json.loads(bytes(answer.body))
    places: dict[str, list[tuple[dict[str, Any], str]]] = {}
    for name, within, key in _fields(body):
        places.setdefault(name, []).append((within, key))
    if not places:
        return answer
    lap, place = divmod(turn - 1, len(places))
    # Each name in turn, and in a list each time another row.
    field_places = list(places.values())[place]
    within, key = field_places[lap // 2 % len(field_places)]
    if lap % 2:
        del within[key]
    else:
        within[key] = None
    return JSONResponse(body)


def _fields(value: object, name: str = "") -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield all fields at any depth: a name without numbers of rows, the object that holds it, and its key there."""
    if isinstance(value, list):
        for item in value:
            yield from _fields(item, name)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield f"{name}.{key}", value, key
            yield from _fields(item, f"{name}.{key}")


def _too_many(fault: Fault, seconds: float) -> Response:
    stated_seconds = {"honest": math.ceil(seconds), "lying": max(1, math.floor(seconds / 20))}.get(fault.retry_after)
    headers = {} if stated_seconds is None else {"retry-after": str(stated_seconds)}
    if fault.plain_text:
        return PlainTextResponse("Too many requests", 429, headers)
    error = {"code": 429, "message": "Too many requests", "status": "RESOURCE_EXHAUSTED"}
    return JSONResponse({"error": error}, 429, headers)


async def _stall(fault: Fault, act: Act, request: Request) -> Response:
    """Answer late, unless the client has gone; a request that is not carried out first is carried out after the wait."""
    answer = await act() if fault.acts else None
    if answer is None:
        # The body is read now, as waiting for the client to disconnect reads on.
        await request.body()
    try:
        async with asyncio.timeout(fault.seconds):
            while (await request.receive())["type"] != "http.disconnect":
                pass
        return Cut(begun=False)
    except TimeoutError:
        return answer if answer is not None else await act()


class Cut(Response):
    """No complete answer: the connection ends before its first byte, or in the middle."""

    def __init__(self, *, begun: bool) -> None:
        super().__init__(b'{"mess', media_type="application/json")
        self._begun = begun
        self.headers["content-length"] = "64"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """End the connection; the server puts its transport into the scope's state."""
        transport: Any = scope["state"]["transport"]
        if self._begun:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            await send({"type": "http.response.body", "body": self.body, "more_body": True})
            transport.close()
        else:
            transport.abort()
        while (await receive())["type"] != "http.disconnect":
            pass
