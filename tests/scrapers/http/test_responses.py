"""What comes from a site is taken in one coding, bounded, in good time, and the loop goes on meanwhile."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import httpx2
import pytest

from scrapers.http.download import Download
from scrapers.http.responses import SLOWEST, read_json, steady_chunks
from scrapers.kaggle.client import Method
from scrapers.kaggle.competitions import Competition
from state.errors import BotError, DownloadFailed, SiteUnavailable
from tests.file_server import FileServer
from tests.scrapers.kaggle.data_site import client_at
from tests.scrapers.kaggle.parts import SetClock
from tests.scripted_endpoint import Reply, ScriptedEndpoint
from tests.ticking import standstill

GET = Method("competitions.CompetitionApiService", "GetCompetition", "competitions")


def parts() -> bytes:
    return b'{"a": [' + b"[]," * 5_000_000 + b"[]]}"


def packed(times: int) -> bytes:
    body = gzip.compress(bytes(1 << 20)) * 1024
    for _ in range(times - 1):
        body = gzip.compress(body)
    return body


@pytest.mark.integration
@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (lambda: packed(4), {"Content-Encoding": "gzip, gzip, gzip, gzip"}),
        (lambda: packed(3), {"Content-Encoding": "gzip,gzip,identity,gzip"}),
        (lambda: gzip.compress(bytes(1 << 28)), {"Content-Encoding": "gzip"}),
        (lambda: gzip.compress(parts()), {"Content-Encoding": "gzip"}),
        (lambda: b'{"a":' * 100_000, {}),
        (lambda: b"{}", {"Date": "Fri, 20 Nov 99999999999999999999 09:59:58 GMT", "Content-Encoding": "br"}),
        (lambda: b"{}", {"Content-Encoding": "zstd"}),
    ],
    ids=["four times", "three times", "bomb", "parts", "deep", "no year", "zstd"],
)
async def test_the_loop_goes_on_whatever_the_site_answers(body: Callable[[], bytes], headers: dict[str, str]) -> None:
    with ScriptedEndpoint([Reply(body=body(), headers=headers)]) as site:
        async with client_at(site.url) as client, standstill() as found:
            with pytest.raises(SiteUnavailable):
                await client.call(GET, {}, Competition)
    assert found.seconds < 2.0
    assert site.requests[0].headers["accept-encoding"] == "gzip"


@pytest.mark.parametrize("location", [None, "http://[", "http://evil.example/x", "http://127.0.0.1:99999/x"])
async def test_a_download_that_leads_nowhere_or_astray_is_an_error_of_ours(location: str | None) -> None:
    headers = {} if location is None else {"Location": location}
    with ScriptedEndpoint([Reply(status=302, body=b"", headers=headers)]) as site:
        async with client_at(site.url) as client:
            with pytest.raises(BotError):
                await client.content(GET, {})


async def test_an_upload_goes_to_no_strange_address(tmp_path: Path) -> None:
    file = tmp_path / "submission.csv"
    file.write_text("x")
    with ScriptedEndpoint([""]) as site:
        async with client_at(site.url) as client:
            for url in ("http://evil.example/x", "http://10.0.0.1/x", "http://[", ""):
                with pytest.raises(BotError, match="address"):
                    await client.put(url, file)


async def test_a_download_that_trickles_is_given_up_and_one_that_flows_is_not() -> None:
    async def drip(size: int) -> AsyncIterator[bytes]:
        while True:
            await asyncio.sleep(0.01)
            yield bytes(size)

    slow = httpx2.Response(200, content=drip(1))
    with pytest.raises(httpx2.ReadTimeout, match=r"only \d+ bytes came in"):
        async for _ in steady_chunks(slow, window=0.2):
            pass
    came, flowing = 0, httpx2.Response(200, content=drip(SLOWEST))
    async for part in steady_chunks(flowing, window=0.05):
        if (came := came + len(part)) > 20 * SLOWEST:
            break
    assert came > 20 * SLOWEST


@pytest.mark.integration
async def test_a_file_that_trickles_is_given_up_after_some_attempts(tmp_path: Path) -> None:
    with FileServer({"a": bytes(400_000)}, pause=0.05, piece=500, etags={"a": '"1"'}) as server:
        async with client_at(server.url("v1")) as client:

            async def address() -> str:
                return server.url("a")

            work = Download("a", address, tmp_path / "a", client.stream, spare=0, sleep=SetClock().sleep, window=0.2)
            with pytest.raises(DownloadFailed, match=r"could not be fetched in 5 attempts: .*only .* bytes came"):
                await work.run()
    assert not (tmp_path / "a").exists()


async def test_a_file_without_a_length_leaves_the_room_that_must_stay_free(tmp_path: Path) -> None:
    with FileServer({"a": bytes(40_000_000)}, says_length=False) as server:
        async with client_at(server.url("v1")) as client:

            async def address() -> str:
                return server.url("a")

            work = Download("a", address, tmp_path / "a", client.stream, spare=0, sleep=SetClock().sleep)

            def others_fill_the_disk(have: int, total: int | None) -> None:
                work.spare = 10**15

            work.progress = others_fill_the_disk
            with pytest.raises(DownloadFailed, match="must stay free"):
                await work.run()
            assert work.part.stat().st_size < 20_000_000


def test_json_of_too_many_parts_is_none() -> None:
    for text in ("[" + "[]," * 300_000 + "1]", "[" + "1," * 3_000_000 + "1]"):
        with pytest.raises(ValueError, match="too many parts"):
            read_json(text)
    assert read_json('{"a": [1, "x"]}') == {"a": [1, "x"]}
