"""One request of a coding agent and its answer, which is passed on as it comes and counted as it passes."""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing

from bot.coder.gateway.dialects import Dialect, Json, PartialAnswer
from bot.models import Item, Message
from bot.models.completion import estimated_tokens
from bot.models.connection import Rejected
from bot.models.failures import STREAM
from bot.models.passing import Answer
from bot.models.reply import NotACompletion, Reply, decode_answer, read_usage, status_inside
from scrapers.http.responses import read_json
from scrapers.posts.cleaning import both_ends
from state.errors import ModelUnavailable

NAME = "gateway"
"""Of the prompt, and of its step."""
_TIMED_OUT = "the endpoint's response exceeded its time limit"
_BETWEEN = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_MOST_EVENT = 4 * 1024 * 1024
_SLACK = 1.5
"""Factor by which an answer may exceed its limit before it is ended, as the tokens of an unfinished one are only estimated."""


class Client:
    """A receiver of an answer; this one ignores it, for requests of the bot itself."""

    async def begin(self, status: int, kind: str) -> None:
        """Start the answer, with its status and content type."""

    async def send(self, content: bytes) -> None:
        """Send a part of the answer."""

    async def end(self) -> None:
        """End the answer."""


class Exchange:
    """A `Passed` prompt."""

    name = NAME

    def __init__(
        self, dialect: Dialect, request: Json, headers: Mapping[str, str], items: Sequence[Item], connection: Client
    ) -> None:
        """Take a checked request, its headers that may go on, what the agent may have read, and where the answer goes."""
        self.path = dialect.path
        self.kept_characters: int | None = None
        """Most characters of the answer that are kept; None: all."""
        self.begun = False
        """Whether something of an answer was passed on."""
        self.estimated = False
        """Whether tokens of the answer are estimated, as it did not say them all."""
        self._dialect = dialect
        self._request = request
        self._headers = headers
        self._items = items
        self._connection = connection
        self._most: int | None = None
        self._heard = PartialAnswer()
        self._stopped = False
        self._limit: asyncio.Timeout | None = None
        self._messages = tuple(dialect.messages(request))

    def messages(self) -> Sequence[Message]:
        """Return all that is sent, for the log."""
        return self._messages

    @property
    def max_tokens(self) -> int | None:
        """The maximum tokens of an answer that the request sets; None: it sets none."""
        return self._dialect.asked_tokens(self._request)

    def parse(self, text: str) -> str:
        """Return the text, which is the agent's to read."""
        return text

    def items(self) -> Sequence[Item]:
        """Return what the agent may have read."""
        return self._items

    def body(self, model: str, max_tokens: int | None) -> Json:
        """Return the request for a model, whose answer may have at most so many tokens."""
        self._most = max_tokens
        return self._dialect.prepare(self._dialect.limit_tokens({**self._request, "model": model}, max_tokens))

    def headers(self, key: str) -> Mapping[str, str]:
        """Return the request's headers with the key."""
        kind = STREAM if self._request.get("stream") else "application/json"
        return {"Accept": kind, **self._dialect.headers(key, self._headers)}

    def probe(self) -> "Exchange":
        """Return a request of ours in the same dialect, which holds nothing of this one; its answer goes nowhere."""
        return Exchange(self._dialect, self._dialect.probe(), self._headers, (), Client())

    def stop(self) -> None:
        """End a stream now: the part received is charged."""
        if self._limit is not None:
            self._stopped = True
            self._limit.reschedule(asyncio.get_running_loop().time())

    async def take(self, answer: Answer) -> Reply:
        """Pass an answer on, and return its contents; see `Passed`."""
        self._heard = PartialAnswer()
        if answer.kind != STREAM:
            return await self._read_whole(answer)
        broken = "the endpoint's response was interrupted"
        try:
            async with asyncio.timeout_at(answer.ends) as self._limit:
                await self._stream(answer)
        except TimeoutError:
            if not self.begun:
                raise ModelUnavailable(_TIMED_OUT) from None
            broken = "the lab has ended" if self._stopped else _TIMED_OUT
        except ModelUnavailable as error:
            if not self.begun:
                raise
            broken = str(error)
        finally:
            self._limit = None
        if not self.begun:
            raise ModelUnavailable("the endpoint's response was empty")
        if not self._heard.ended:
            await self._connection.send(self._dialect.error_event(broken))
        await self._connection.end()
        return self._reply()

    async def _read_whole(self, answer: Answer) -> Reply:
        try:
            async with asyncio.timeout_at(answer.ends):
                content = b"".join([piece async for piece in answer.pieces])
        except TimeoutError:
            raise ModelUnavailable(_TIMED_OUT) from None
        if isinstance(body := decode_answer(content), dict):
            self._dialect.read_answer(self._heard, body)
        if not self._heard.ended:
            raise NotACompletion(
                f"the endpoint's response does not match the format of {self._dialect.path}: does the endpoint support this path?"
            )
        self.begun = True
        await self._connection.begin(200, "application/json")
        await self._connection.send(content)
        await self._connection.end()
        return self._reply()

    async def _stream(self, answer: Answer) -> None:
        """Pass events on; the first one decides whether it is an answer at all."""
        if not self._request.get("stream"):
            raise NotACompletion("the endpoint sent a stream that was not requested")
        async with aclosing(split_events(answer.pieces)) as events:
            async for event in events:
                await self._event(event, _data(event))
                if self._dialect.is_last(self._heard, event):
                    return
                if self._most is not None and self._heard.characters > 4 * _SLACK * self._most:
                    self._heard.ended = False
                    raise ModelUnavailable(f"the answer was stopped: it exceeded the limit of {self._most} tokens")

    async def _event(self, event: bytes, data: Json | None) -> None:
        if (
            not self.begun
            and data is not None
            and (error := data.get("error") or (data.get("type") == "error" and data))
        ):
            raise Rejected(status_inside(error), {"error": error}, {})
        if data is not None:
            self._dialect.event(self._heard, data)
        if not self.begun:
            self.begun = True
            await self._connection.begin(200, STREAM)
        if data is None or self._dialect.shown(self._request, data):
            await self._connection.send(event)

    def _reply(self) -> Reply:
        partial = self._heard
        usage, self.estimated = read_usage(partial.usage, self._messages, partial.text)
        if not partial.ended:
            # What was counted last was counted before the rest came.
            got = max(usage.completion_tokens, estimated_tokens(partial.text))
            usage, self.estimated = type(usage)(usage.prompt_tokens, got, usage.cached_tokens), True
        text = partial.text if self.kept_characters is None else both_ends(partial.text, self.kept_characters)
        return Reply(text, "stop" if partial.ended else "error", usage)


async def split_events(pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Yield the events of a stream, each with the blank line that ends it, however the pieces are cut.

    Raises:
        ModelUnavailable: one has no end.
    """
    buffer = bytearray()
    async for piece in pieces:
        searched = max(0, len(buffer) - 3)
        buffer += piece
        while end := _BETWEEN.search(buffer, searched):
            yield bytes(buffer[: end.end()])
            del buffer[: end.end()]
            searched = 0
        if len(buffer) > _MOST_EVENT:
            raise ModelUnavailable(f"an event in the endpoint's response is longer than {_MOST_EVENT:,} bytes")
    if buffer.strip():
        yield bytes(buffer) + b"\n\n"


def _data(event: bytes) -> Json | None:
    """Return the JSON object that an event carries, if any."""
    lines = event.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    text = "\n".join(line[5:].removeprefix(" ") for line in lines if line.startswith("data:"))
    try:
        data = read_json(text)
    except ValueError:
        return None
    return data if isinstance(data, dict) else None
