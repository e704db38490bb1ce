"""The clock of a rehearsal: read to the last digit, from this machine alone, and every other answer refused in words."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import pytest

from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.simulator.clock import site_clock
from bot.simulator.site.app import App
from bot.simulator.site.site import Site
from scrapers.snapshots.snapshot import Snapshot
from state.clock import FastClock
from state.errors import SiteUnavailable, UsageError
from tests.tiny_snapshot import write_tiny

URL = "http://127.0.0.1:8899/v1"
CLOCK = {"start": "2020-01-01T00:00:00+00:00", "speed": 2000.0, "began": 1.5}


async def asked(answer: Callable[[httpx2.Request], httpx2.Response], url: str = URL) -> FastClock:
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as http:
        return await site_clock(http, url)


async def test_it_is_exactly_the_clock_of_the_site(tmp_path: Path) -> None:
    begins = datetime(2020, 1, 3, 4, 5, 6, 789, tzinfo=UTC)
    snapshot = Snapshot.load(write_tiny(tmp_path / "tiny"), METRIC_DIRECTIONS)
    site = Site(snapshot, FastClock(begins, 1234.567))
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(App(site))) as http:
        clock = await site_clock(http, URL)
    site.close()
    assert isinstance(site.clock, FastClock)
    assert (clock.start, clock.speed, clock.began) == (begins, 1234.567, site.clock.began)
    assert abs(clock.now() - site.clock.now()) < timedelta(hours=1)


@pytest.mark.parametrize(
    "url", ["http://localhost:1/v1", "http://127.9.9.9/v1", "http://[::1]:8899/api/v1/", "https://localhost"]
)
async def test_any_address_of_this_machine_will_do(url: str) -> None:
    paths: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        paths.append(request.url.path)
        return httpx2.Response(200, json=CLOCK | {"since": "the future"})

    assert (await asked(answer, url)).began == 1.5
    assert paths == ["/clock"]


@pytest.mark.parametrize(
    "url",
    [
        *("https://api.kaggle.com/v1", "http://192.168.0.7:8899/v1", "http://127.0.0.1.example.org/v1"),
        *("http://127.0.0.1@example.org/v1", "file://localhost/v1", "http:///v1", ""),
        *("http://127.0.0.1:port/v1", "http://[::1/v1"),
    ],
)
async def test_no_other_machine_is_asked(url: str) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        raise AssertionError(f"{request.url} was asked")

    with pytest.raises(UsageError, match="on this machine"):
        await asked(answer, url)


@pytest.mark.parametrize(
    ("response", "words"),
    [
        (httpx2.Response(404, text="Not found"), "404"),
        (httpx2.Response(302, headers={"location": "https://example.org/clock"}), "302"),
        (httpx2.Response(200, text="<html>"), "invalid"),
        (httpx2.Response(200, json={}), "invalid"),
        (httpx2.Response(200, json=CLOCK | {"speed": 0}), "invalid"),
        (httpx2.Response(200, json=CLOCK | {"start": "2020-01-01T00:00:00"}), "invalid"),
        (httpx2.Response(200, content=b'{"start": "2020-01-01T00:00:00Z", "speed": 1.0, "began": NaN}'), "invalid"),
    ],
)
async def test_an_answer_without_a_clock_is_no_site(response: httpx2.Response, words: str) -> None:
    with pytest.raises(SiteUnavailable, match=words):
        await asked(lambda _: response)


async def test_where_nobody_answers_it_says_what_to_start() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused", request=request)

    with pytest.raises(SiteUnavailable, match="start `bot rehearse`"):
        await asked(answer)
