"""Requests of third-party programs: each goes to an endpoint in its own dialect, and the answer is passed on as it comes."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from httpx2 import HTTPError, Response
from pydantic import SecretStr

from bot.models.connection import EndpointConnection
from bot.models.failures import MOST_BYTES, MOST_OF_STREAM, STREAM
from bot.models.reply import Reply
from state.errors import ModelUnavailable
from state.redaction import RedactedStream, Redactor

PROBE = "Answer with one word: yes."
"""The question that shows whether an endpoint answers at all."""


@dataclass(frozen=True)
class Answer:
    """An endpoint's answer with status 200, while it comes."""

    kind: str
    """Its content type, such as `text/event-stream`."""
    pieces: AsyncIterator[bytes]
    """Its body without keys; raises ModelUnavailable if it breaks off or becomes too long."""
    ends: float
    """When it must have come whole, by the loop's clock."""


@runtime_checkable
class ProxiedPrompt(Protocol):
    """A `Prompt` that is a third-party program's own request; its messages are all that is sent, for the log."""

    path: str
    """Below the endpoint's address, such as `/chat/completions`."""

    def body(self, model: str, max_tokens: int | None) -> dict[str, Any]:
        """Return the request for a model, whose answer may have at most so many tokens."""
        ...

    def headers(self, key: str) -> Mapping[str, str]:
        """Return the request's headers with the key."""
        ...

    def probe(self) -> "ProxiedPrompt":
        """Return a request of ours in the same dialect, which holds nothing of this one; its answer goes nowhere."""
        ...

    async def take(self, answer: Answer) -> Reply:
        """Pass an answer on, and return its contents; it is charged even if it broke off.

        Raises Rejected: it is an error, sent with status 200; ModelUnavailable: it broke off before anything was passed on.
        """
        ...


class PassingClient:
    """Sends requests of third-party programs to one endpoint."""

    def __init__(self, connection: EndpointConnection, redactor: Redactor) -> None:
        """Set the endpoint; `redactor` removes the keys of all endpoints from answers."""
        self._connection = connection
        self._redactor = redactor

    @asynccontextmanager
    async def send(
        self, request: ProxiedPrompt, payload: Mapping[str, Any], key: SecretStr, deadline: float, *, seconds: float
    ) -> AsyncIterator[Answer]:
        """Send a request, and yield the answer while it comes.

        By the loop's clock it must have come whole when `ends` is reached; `seconds` is the longest silence between
        two bytes. The pieces of the answer raise EndpointSilent, too.

        Raises:
            ModelUnavailable: nothing of an answer came before `ends`.
            Also what `EndpointConnection.post` raises.
        """
        headers = {**request.headers(key.get_secret_value()), "Accept-Encoding": "identity"}
        content = self._redactor.own(json.dumps(payload, allow_nan=False), "a forwarded request").encode()
        model = payload["model"]
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout_at(deadline):
                    request_sent = self._connection.post(request.path, headers, content, model=model, seconds=seconds)
                    response = await stack.enter_async_context(request_sent)
            except TimeoutError:
                raise ModelUnavailable("the endpoint did not start to answer in time") from None
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            max_bytes = MOST_OF_STREAM if kind == STREAM else MOST_BYTES
            pieces = await stack.enter_async_context(aclosing(self._pieces(response, max_bytes, model, seconds)))
            yield Answer(kind, pieces, deadline)

    async def _pieces(
        self, response: Response, max_bytes: int, model: str, seconds: float
    ) -> AsyncGenerator[bytes, None]:
        stream, length = RedactedStream(self._redactor), 0
        if response.headers.get("content-encoding", "identity") != "identity":
            raise ModelUnavailable("the endpoint used an encoding that the bot did not request")
        try:
            async for piece in response.aiter_raw():
                length += len(piece)
                if length > max_bytes:
                    raise ModelUnavailable(f"the endpoint's response is longer than {max_bytes:,} bytes")
                if redacted := stream.pass_on(piece):
                    yield redacted
        except HTTPError as error:
            raise self._connection.failure(error, model, seconds) from None
        if last_bytes := stream.pass_on(b"", last=True):
            yield last_bytes
