"""One request to a chat completions endpoint: the body of its answer, which is streamed where the endpoint can, or an error."""

import asyncio
import hashlib
import json
import re
from codecs import BOM_UTF8
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from httpx2 import AsyncByteStream, EventSource, HTTPError, Response
from pydantic import SecretStr

from bot.models.connection import EndpointConnection, Rejected
from bot.models.failures import MOST_BYTES, MOST_OF_EVENT, MOST_OF_STREAM, STREAM, endpoint_words, is_about
from bot.models.streamed_answer import StreamedAnswer, error_in
from scrapers.http.responses import CODING, parts, read_json, receive
from state.errors import EndpointSilent, ModelUnavailable
from state.redaction import Redactor

_WAYS: tuple[dict[str, Any], ...] = ({"stream": True, "stream_options": {"include_usage": True}}, {"stream": True}, {})
"""How an answer is asked for; the next way is tried where an endpoint refuses one."""
_SEPARATE = re.compile(r"\n(?=\{|\[DONE)")
"""Where one event ends and another begins if a server leaves out the empty line between them."""
_EVENTS = (b"data:", b"event:", b"id:", b"retry:", b": ")
"""The start of a stream."""
_AFTER_END, _AFTER_ALL = 10.0, 0.2
"""Seconds that an answer's tokens have to come after its text has ended; and the connection's end after all of it."""


class Unfinished(Exception):
    """A streamed answer broke off; `body` is the part received, as an unstreamed one, and the text is the reason."""

    def __init__(self, reason: str, body: bytes) -> None:
        super().__init__(reason)
        self.body = body


class ChatClient:
    """Sends chat completions; the key is sent in a header alone, and redacted in answers and errors."""

    def __init__(self, connection: EndpointConnection, key: SecretStr, redactor: Redactor) -> None:
        """Set the endpoint; `redactor` removes the keys of all endpoints from answers."""
        self._connection = connection
        self._key = key
        self._redactor = redactor
        self._ways: dict[str, int] = {}
        """The way in which each model was last answered."""
        self._streamed_last: dict[str, bool] = {}
        self._given_up: dict[bytes, float] = {}
        """Requests that were given up without an answer, and until when (loop's clock) one may still come."""

    def streams(self, model: str) -> bool:
        """Return whether a model's last answer came as a stream."""
        return self._streamed_last.get(model, False)

    async def post(self, payload: dict[str, Any], *, seconds: float) -> bytes:
        """Return the body of an answer with status 200, UTF-8; a streamed one is put together as if it had come whole.

        `seconds` bound each silence.

        Raises:
            Rejected: any other status.
            Unfinished: a streamed answer broke off, fell silent, or was cancelled after it had begun.
            EndpointSilent: nothing came for `seconds`; or such a request was given up less than `seconds` ago, and may
                still be answered.
            ModelUnavailable: no connection, or one that broke.
        """
        now, key = (
            asyncio.get_running_loop().time,
            hashlib.sha256(json.dumps(payload, sort_keys=True).encode()).digest(),
        )
        self._given_up = {endpoint_way: until for endpoint_way, until in self._given_up.items() if until > now()}
        if (until := self._given_up.get(key)) is not None:
            wait = until - now()
            raise EndpointSilent(f"{payload['model']} may still answer this request; retrying in {wait:.0f} s")
        try:
            return await self._in_some_way(payload, seconds)
        except (EndpointSilent, asyncio.CancelledError):
            self._given_up[key] = now() + seconds
            raise

    async def _in_some_way(self, payload: dict[str, Any], seconds: float) -> bytes:
        """Ask for a stream; in another way if the endpoint refuses that, and from then on if it is then answered."""
        way = self._ways.get(payload["model"], 0)
        while True:
            try:
                body = await self._send(payload | _WAYS[way], seconds)
            except Rejected as answer:
                if way + 1 == len(_WAYS) or not is_about("streams", answer.status, answer.body):
                    raise
                way += 1
                continue
            self._ways[payload["model"]] = way
            return body

    async def _send(self, payload: dict[str, Any], seconds: float) -> bytes:
        headers = {"Authorization": f"Bearer {self._key.get_secret_value()}", "Accept-Encoding": CODING}
        content, model = json.dumps(payload, allow_nan=False).encode(), payload["model"]
        async with self._connection.post("/chat/completions", headers, content, model=model, seconds=seconds) as answer:
            kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
            self._streamed_last[model] = kind == STREAM
            if kind == STREAM:
                return await self._streamed(answer, model, seconds)
            body = self._connection.text(await receive(answer, MOST_BYTES)).encode()
            if not body.lstrip().startswith(_EVENTS):
                return body
            # A gateway named another content type.
            self._streamed_last[model] = True
            return await self._streamed(Response(200, content=body, request=answer.request), model, seconds)

    async def _streamed(self, response: Response, model: str, seconds: float) -> bytes:
        """Put a stream together; one that has come to its own end is an answer, whatever happens after that."""
        answer, now, reason = StreamedAnswer(), asyncio.get_running_loop().time, "the stream ended early"
        stream = _BoundedStream(response)
        bounded_response = Response(200, headers={"content-type": STREAM}, stream=stream, request=response.request)
        try:
            async with asyncio.timeout(None) as limit:
                is_last = False
                async for event in EventSource(bounded_response, MOST_OF_EVENT):
                    for data in _SEPARATE.split(event.data.strip()):
                        is_last = is_last or data.startswith("[DONE]")
                        value = read_json(data) if data.startswith(("{", "[{")) and not is_last else None
                        if event.event == "error" and not error_in(value):
                            value = {"error": value or data}
                        answer.add(value)  # other words only keep the connection alive
                    answer.ended = answer.ended or (is_last and answer.error is None)
                    if is_last or answer.error is not None:
                        limit.reschedule(now() + _AFTER_ALL)
                    elif answer.ended and limit.when() is None:
                        limit.reschedule(now() + _AFTER_END)
        except TimeoutError:
            pass  # there was an end or an error before
        except HTTPError as error:
            reason = str(self._connection.failure(error, model, seconds))
            if not answer.begun:
                raise
        except ValueError:
            reason = "part of it is unreadable"
        except asyncio.CancelledError:
            reason = "it took too long"
            if not answer.begun:
                raise
        body = self._connection.text(json.dumps(answer.body()).encode())
        if len(body) > MOST_BYTES:
            raise ModelUnavailable(f"the answer from {model} is longer than {MOST_BYTES:,} bytes")
        if answer.begun and not answer.ended:
            reason = reason if answer.error is None else endpoint_words({"error": answer.error})
            raise Unfinished(f"the answer from {model} was interrupted: {self._redactor.own(reason)}", body.encode())
        if not (answer.begun or answer.ended or answer.error):
            if (error_body := stream.whole.removeprefix(b"error:").lstrip()).startswith(b"{"):
                return self._connection.text(error_body).encode()
            raise ModelUnavailable(f"the answer from {model} was cut off in transit")
        return body.encode()


class _BoundedStream(AsyncByteStream):
    def __init__(self, response: Response) -> None:
        self._response = response
        self._start = self.whole = b""
        """Its first character; and all that came, if it may be JSON and no stream, or llama.cpp's `error:`."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async with aclosing(parts(self._response, MOST_OF_STREAM)) as stream_parts:
            async for part in stream_parts:
                part = part if self._start else part.removeprefix(BOM_UTF8)
                self._start = self._start or part.lstrip()[:1]
                is_error = self._start == b"e" and b"error:".startswith((self.whole + part).lstrip()[:6])
                self.whole = self.whole + part if self._start == b"{" or is_error else b""
                yield part
            yield b"\n\n"
