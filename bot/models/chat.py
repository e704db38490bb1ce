"""One request to a chat completions endpoint: its body, or an error."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from scrapers.http.responses import read_json
from state.errors import ModelUnavailable
from state.redaction import Redactor

if TYPE_CHECKING:
    from openai import AsyncOpenAI


class Rejected(Exception):
    """The endpoint answered with an error status; `body` is decoded JSON, or text."""

    def __init__(self, status: int, body: object, headers: Mapping[str, str]) -> None:
        super().__init__(f"status {status}")
        self.status = status
        self.body = body
        self.headers = headers


class ChatClient:
    """Sends chat completions with the openai package, which is imported at the first request.

    The key is sent in a header alone, and redacted in answers and errors.
    """

    def __init__(self, base_url: str | None, key: SecretStr, redactor: Redactor) -> None:
        """Set the endpoint; `redactor` removes the keys of all endpoints from answers."""
        self._base_url = base_url
        self._key = key
        self._redactor = redactor
        self._openai: AsyncOpenAI | None = None

    async def aclose(self) -> None:
        """Close the connections."""
        if self._openai is not None:
            await self._openai.close()
            self._openai = None

    async def post(self, payload: dict[str, Any], *, seconds: float) -> bytes:
        """Return the body of an answer with status 200, UTF-8.

        Raises:
            Rejected: any other status.
            ModelUnavailable: no connection, one that broke, or no whole answer within `seconds`.
        """
        from openai import APIConnectionError, APIStatusError

        model = payload["model"]
        try:
            async with asyncio.timeout(seconds):
                raw = await self._client().chat.completions.with_raw_response.create(**payload, timeout=seconds)
        except APIStatusError as error:
            answer = error.response
            raise Rejected(answer.status_code, decoded(self._text(answer.content)), answer.headers) from None
        except TimeoutError:
            raise ModelUnavailable(f"{model} gave no answer within {seconds:g} s") from None
        except APIConnectionError as error:
            why = self._redactor.own(str(error.__cause__ or error) or type(error.__cause__ or error).__name__)
            raise ModelUnavailable(f"no connection to the endpoint of {model}, or it broke: {why}") from None
        return self._text(raw.content).encode()

    def _text(self, body: bytes) -> str:
        """Return a body as text, without keys; JSON is UTF-8, whatever charset a header names."""
        return self._redactor.own(body.decode("utf-8", "replace"), "what the endpoint sent")

    def _client(self) -> "AsyncOpenAI":
        if self._openai is None:
            from openai import AsyncOpenAI

            from bot.models.bounded import BoundedClient

            self._openai = AsyncOpenAI(
                api_key=self._key.get_secret_value(),
                base_url=self._base_url,
                max_retries=0,
                http_client=BoundedClient(),
            )
        return self._openai


def decoded(text: str) -> object:
    """Return the value of a JSON text; any other text as it is."""
    try:
        return read_json(text)
    except (ValueError, RecursionError):
        return text
