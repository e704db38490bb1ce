"""A client whose site is a function, and a clock that nobody waits for."""

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2

from scrapers.kaggle.client import KaggleClient
from scrapers.kaggle.credentials import Credentials
from scrapers.kaggle.pacing import Tally
from scrapers.kaggle.settings import KaggleSection, Pace, Timeouts

START = datetime(2026, 11, 20, 10, tzinfo=UTC)
URL = "https://kaggle.example/v1"
SECRET = "KGAT_abcdef"


class SetClock:
    """Sleeping sets it forward at once."""

    def __init__(self, time: datetime = START) -> None:
        self.time = time
        self.slept: list[float] = []

    def now(self) -> datetime:
        return self.time

    def as_of(self) -> datetime:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


@dataclass
class Asked:
    """A request as the site got it."""

    method: str
    body: dict[str, Any]
    headers: Mapping[str, str]


@dataclass
class Site:
    """Answers in turn by a script; the last one stays."""

    script: list[Callable[[], httpx2.Response]]
    asked: list[Asked] = field(default_factory=list)

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        content = request.content or b"{}"
        body = json.loads(content) if content[:1] == b"{" else {}
        self.asked.append(Asked(request.url.path.rsplit("/", 1)[-1], body, dict(request.headers)))
        return (self.script.pop(0) if len(self.script) > 1 else self.script[0])()


def answer(content: object = None, status: int = 200, **headers: str) -> Callable[[], httpx2.Response]:
    """Return what makes an answer: JSON, or text where it is text."""
    if isinstance(content, str):
        return lambda: httpx2.Response(status, text=content, headers=headers)
    return lambda: httpx2.Response(status, json={} if content is None else content, headers=headers)


def broken(error: type[httpx2.TransportError] = httpx2.ReadError) -> Callable[[], httpx2.Response]:
    """Return what breaks the connection."""

    def fail() -> httpx2.Response:
        raise error("the connection was reset")

    return fail


@asynccontextmanager
async def client_of(
    site: Callable[[httpx2.Request], httpx2.Response | Awaitable[httpx2.Response]],
    clock: SetClock | None = None,
    *,
    pace: Pace | None = None,
    timeouts: Timeouts | None = None,
    credentials: Iterator[Credentials] | None = None,
) -> Any:
    """Yield a client of a site."""
    found = credentials or iter(lambda: Credentials(SECRET), None)
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(site)) as http:
        yield KaggleClient(
            http,
            lambda: next(found),
            clock or SetClock(),
            Tally(),
            KaggleSection(url=URL, pace=pace or Pace(), timeouts=timeouts or Timeouts()),
        )
