"""The connections to one endpoint: a request, and its answer while it comes."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

from httpx2 import AsyncClient, HTTPError, ReadTimeout, Request, Response, create_ssl_context

from bot.models.failures import MOST_OF_ERROR
from scrapers.http.responses import read_json, receive
from state.errors import EndpointSilent, ModelUnavailable
from state.redaction import Redactor

OPENAI = "https://api.openai.com/v1"


class Rejected(Exception):
    """The endpoint answered with an error status; `body` is decoded JSON, or text."""

    def __init__(self, status: int, body: object, headers: Mapping[str, str]) -> None:
        super().__init__(f"status {status}")
        self.status = status
        self.body = body
        self.headers = headers


class EndpointConnection:
    """Sends requests to one endpoint; no redirect is followed. It belongs to one event loop."""

    def __init__(self, base_url: str | None, redactor: Redactor) -> None:
        """Set the endpoint (None: OpenAI); `redactor` removes the keys of all endpoints from answers."""
        self._base_url = (base_url or OPENAI).rstrip("/")
        self._redactor = redactor
        self._client: AsyncClient | None = None

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    @asynccontextmanager
    async def post(
        self, path: str, headers: Mapping[str, str], content: bytes, *, model: str, seconds: float
    ) -> AsyncIterator[Response]:
        """Send JSON for a model, and yield the answer while it comes; `seconds` bound each silence.

        Raises:
            Rejected: any status but 200.
            EndpointSilent: nothing came for `seconds`.
            ModelUnavailable: no connection, or one that broke.
        """
        if self._client is None:
            agent = {"User-Agent": "kaggle-bot"}
            self._client = AsyncClient(follow_redirects=False, headers=agent, verify=_trusted())
        all_headers = {"Content-Type": "application/json", **headers}
        try:
            request = self._client.build_request(
                "POST", self._base_url + path, content=content, headers=all_headers, timeout=seconds
            )
            response = await self._client.send(request, stream=True)
            try:
                await self._ensure_taken(response)
                yield response
            finally:
                await response.aclose()
        except HTTPError as error:
            raise self.failure(error, model, seconds) from None

    async def _ensure_taken(self, response: Response) -> None:
        if (next_request := response.next_request) is not None:
            raise Rejected(response.status_code, _redirected(next_request), response.headers)
        if response.status_code != 200:
            text = self.text(await receive(response, MOST_OF_ERROR))
            raise Rejected(response.status_code, _decoded(text), response.headers)

    def text(self, body: bytes) -> str:
        """Return a body as text, without keys; JSON is UTF-8, whatever charset a header names."""
        return self._redactor.own(body.decode("utf-8", "replace"), "the endpoint's answer")

    def failure(self, error: HTTPError, model: str, seconds: float) -> ModelUnavailable:
        """Return the error for a connection that broke, fell silent, or could not be made."""
        if isinstance(error, ReadTimeout):
            return EndpointSilent(f"{model} sent nothing for {seconds:g} s")
        reason = self._redactor.own(str(error) or type(error).__name__)
        return ModelUnavailable(f"could not connect to {model}'s endpoint, or the connection was lost: {reason}")


_trusted = cache(create_ssl_context)
"""Whom to trust; once, as it takes a tenth of a second to read."""


def _redirected(next_request: Request) -> dict[str, Any]:
    """Return the error for a redirect to another address."""
    origin = f"{next_request.url.scheme}://{next_request.url.netloc.decode('ascii', 'replace')}"
    words = f"it redirects to {origin[:200]}, but the bot does not follow redirects: set the final address as base_url"
    return {"error": {"message": words}}


def _decoded(text: str) -> object:
    """Return the value of a JSON text; any other text as it is."""
    try:
        return read_json(text)
    except ValueError:
        return text
