"""Requests of foreign programs: each goes to an endpoint in its own dialect, and the answer is passed on as it comes."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from pydantic import SecretStr

from bot.models.chat import Rejected, decoded
from bot.models.failures import MOST_BYTES, MOST_OF_ERROR, redirected
from bot.models.reply import Reply
from scrapers.http.responses import receive
from state.errors import ModelUnavailable
from state.redaction import RedactedStream, Redactor

if TYPE_CHECKING:
    from ssl import SSLContext

    from httpx2 import AsyncClient, Response

OPENAI = "https://api.openai.com/v1"
STREAM = "text/event-stream"
_MOST_OF_STREAM = 64 * 1024 * 1024
"""Bytes of a streamed answer, in which each token is an event of some 300 bytes."""


@dataclass(frozen=True)
class Answer:
    """An endpoint's answer with status 200, while it comes."""

    kind: str
    """Its content type, such as `text/event-stream`."""
    pieces: AsyncIterator[bytes]
    """Its body without keys; raises ModelUnavailable where it breaks off, or becomes too long."""
    ends: float
    """When it must have come whole, by the loop's clock."""


@runtime_checkable
class Passed(Protocol):
    """What a `Prompt` has besides if it is a foreign program's own request; its messages are all that is sent, for the log."""

    path: str
    """Below the endpoint's address, such as `/chat/completions`."""

    def body(self, model: str, most: int | None) -> dict[str, Any]:
        """Return the request for a model, whose answer may have so many tokens."""
        ...

    def headers(self, key: str) -> Mapping[str, str]:
        """Return the request's headers with the key."""
        ...

    async def take(self, answer: Answer) -> Reply:
        """Pass an answer on, and return what it held; it is charged even where it broke off.

        Raises:
            Rejected: it is an error, sent with status 200.
            ModelUnavailable: it broke off before anything was passed on.
        """
        ...


class PassingClient:
    """Sends requests of foreign programs to one endpoint; no redirect is followed."""

    def __init__(self, base_url: str | None, redactor: Redactor) -> None:
        """Set the endpoint; `redactor` removes the keys of all endpoints from answers."""
        self._base_url = (base_url or OPENAI).rstrip("/")
        self._redactor = redactor
        self._client: AsyncClient | None = None

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    @asynccontextmanager
    async def send(
        self, request: Passed, payload: Mapping[str, Any], key: SecretStr, ends: float
    ) -> AsyncIterator[Answer]:
        """Send a request, and yield the answer while it comes.

        Raises:
            Rejected: any status but 200.
            ModelUnavailable: no connection, one that broke, or nothing of an answer before `ends` (by the loop's clock).
        """
        from httpx2 import HTTPError

        client = self._opened()
        own = {**request.headers(key.get_secret_value()), "Content-Type": "application/json"}
        content = self._redactor.own(json.dumps(payload, allow_nan=False), "a request that is passed on").encode()
        try:
            async with asyncio.timeout_at(ends):
                post = client.build_request("POST", self._base_url + request.path, content=content, headers=own)
                response = await client.send(post, stream=True)
                try:
                    await self._ensure_taken(response)
                except BaseException:
                    await response.aclose()
                    raise
        except TimeoutError:
            raise ModelUnavailable("the endpoint did not begin its answer in time") from None
        except HTTPError as error:
            raise self._broken(error) from None
        try:
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            async with aclosing(self._pieces(response, _MOST_OF_STREAM if kind == STREAM else MOST_BYTES)) as pieces:
                yield Answer(kind, pieces, ends)
        finally:
            await response.aclose()

    async def _ensure_taken(self, response: "Response") -> None:
        """Raise Rejected for any status but 200."""
        if (onward := response.next_request) is not None:
            where = f"{onward.url.scheme}://{onward.url.netloc.decode('ascii', 'replace')}"
            raise Rejected(response.status_code, redirected(where), response.headers)
        if response.status_code != 200:
            body = await receive(response, MOST_OF_ERROR)
            text = self._redactor.own(body.decode("utf-8", "replace"), "what the endpoint sent")
            raise Rejected(response.status_code, decoded(text), response.headers)

    async def _pieces(self, response: "Response", most: int) -> AsyncGenerator[bytes, None]:
        from httpx2 import HTTPError

        stream, length = RedactedStream(self._redactor), 0
        if response.headers.get("content-encoding", "identity") != "identity":
            raise ModelUnavailable("the endpoint encoded its answer, which was not asked for")
        try:
            async for piece in response.aiter_raw():
                length += len(piece)
                if length > most:
                    raise ModelUnavailable(f"the endpoint's answer has more than {most:,} bytes")
                if redacted := stream.pass_on(piece):
                    yield redacted
        except HTTPError as error:
            raise self._broken(error) from None
        if rest := stream.pass_on(b"", last=True):
            yield rest

    def _broken(self, error: Exception) -> ModelUnavailable:
        why = self._redactor.own(str(error) or type(error).__name__)
        return ModelUnavailable(f"no connection to the endpoint, or it broke: {why}")

    def _opened(self) -> "AsyncClient":
        if self._client is None:
            from httpx2 import AsyncClient

            # Times are kept by the caller: an answer that is thought about sends nothing for minutes.
            headers = {"Accept-Encoding": "identity", "User-Agent": "kaggle-bot"}
            self._client = AsyncClient(follow_redirects=False, timeout=None, headers=headers, verify=_trusted())
        return self._client


@cache
def _trusted() -> "SSLContext":
    """Return whom to trust; once, as it takes a tenth of a second to read."""
    from httpx2 import create_ssl_context

    return create_ssl_context()
