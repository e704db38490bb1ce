"""What comes from a site is taken in one coding, bounded and in good time, and only from addresses that may be asked."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import httpx2
import pytest

from scrapers.http.addresses import Check, is_loopback, kaggle_addresses, open_download, public_addresses
from scrapers.http.download import Download
from scrapers.http.responses import SLOWEST, read_json, steady_chunks
from scrapers.kaggle.client import Method
from scrapers.kaggle.competitions import KaggleCompetition
from state.errors import BotError, DownloadFailed, SiteUnavailable, UnknownAnswer
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
                await client.call(GET, {}, KaggleCompetition)
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
                    await client.upload(url, file)


async def test_a_download_that_trickles_is_given_up_and_one_that_flows_is_not() -> None:
    async def drip(size: int) -> AsyncIterator[bytes]:
        while True:
            await asyncio.sleep(0.01)
            yield bytes(size)

    slow = httpx2.Response(200, content=drip(1))
    with pytest.raises(httpx2.ReadTimeout, match=r"only \d+ bytes arrived in"):
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
            with pytest.raises(DownloadFailed, match=r"could not be downloaded in 5 attempts: .*only .* bytes arrived"):
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


KAGGLE = "https://api.kaggle.com/v1"

STAND_IN = "http://127.0.0.1:8899/v1"


@pytest.mark.parametrize(
    "url",
    [
        *("https://api.kaggle.com/x", "https://www.kaggle.com/x"),
        *("https://storage.googleapis.com/kaggle-data/a.zip?sig=1", "https://www.kaggleusercontent.com/kf/1"),
        *("https://kkb-production.jupyter-proxy.kaggle.net/x", "https://data.configured.example/x"),
        *("https://configured.example/x",),
    ],
)
async def test_kaggles_own_hosts_and_those_configured_are_taken(url: str) -> None:
    await kaggle_addresses(KAGGLE, ["configured.example"])(httpx2.URL(url))


STRANGE = (
    *("http://127.0.0.1/", "https://127.0.0.1/", "http://localhost:8899/", "https://[::1]/", "http://169.254.169.254/"),
    *("https://10.0.0.1/", "https://evil.example/", "http://storage.googleapis.com/x", "file:///etc/passwd"),
    *("https:///x", "https://kaggle.com.evil.example/", "https://evilkaggle.com/", "https://kaggle.com@evil.example/"),
    *("//evil.example/", "https://storage.googleapis.com:99999/x", "ftp://kaggle.com/", "https://2130706433/"),
    *("https://0x7f.1/",),
)


@pytest.mark.parametrize("url", STRANGE)
async def test_what_is_no_host_of_kaggles_is_refused(url: str) -> None:
    with pytest.raises(
        UnknownAnswer, match=r"which is not an https address on one of its hosts; .* `hosts` under \[kaggle\]"
    ):
        await kaggle_addresses(KAGGLE)(httpx2.URL(url))


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/x", "http://localhost:8899/x", "http://[::1]:5/x"])
async def test_a_stand_in_on_this_machine_may_name_this_machine(url: str) -> None:
    await kaggle_addresses(STAND_IN)(httpx2.URL(url))


@pytest.mark.parametrize("url", ["http://10.0.0.1/x", "http://evil.example/x", "http://169.254.169.254/x"])
async def test_a_stand_in_names_no_other_machine(url: str) -> None:
    with pytest.raises(UnknownAnswer):
        await kaggle_addresses(STAND_IN)(httpx2.URL(url))


@pytest.mark.parametrize(
    "url",
    [
        *("https://127.0.0.1/x", "https://localhost/x", "https://[::1]/x", "https://10.1.2.3/x"),
        *("https://192.168.0.1/x", "https://169.254.169.254/latest", "https://[::ffff:127.0.0.1]/x"),
        *("https://0.0.0.0/x", "http://8.8.8.8/x", "https://[fe80::1]/x", "https://100.64.0.1/x"),
        *("https://8.8.8.8:99999/x", "file:///etc/passwd"),
    ],
)
async def test_a_public_download_never_leads_into_this_machines_network_nor_into_the_clear(url: str) -> None:
    with pytest.raises(DownloadFailed, match=r"redirects from https://8\.8\.4\.4 to "):
        await public_addresses("https://8.8.4.4/model")(httpx2.URL(url))


async def test_a_public_download_leads_to_public_addresses_and_one_of_this_machine_to_this_machine() -> None:
    await public_addresses("https://8.8.4.4/model")(httpx2.URL("https://8.8.8.8/x"))
    await public_addresses("http://127.0.0.1:1/model")(httpx2.URL("http://localhost:2/x"))


def redirecting(*locations: str) -> Callable[[httpx2.Request], httpx2.Response]:
    left = list(locations)

    def site(request: httpx2.Request) -> httpx2.Response:
        assert request.headers["Accept-Encoding"] == "identity"
        return httpx2.Response(302, headers={"Location": left.pop(0)}) if left else httpx2.Response(200, content=b"x")

    return site


async def fetched(check: Check, *locations: str) -> bytes:
    async with (
        httpx2.AsyncClient(transport=httpx2.MockTransport(redirecting(*locations))) as http,
        open_download(http, "https://www.kaggle.com/data", {}, check) as response,
    ):
        return await response.aread()


async def test_redirects_are_followed_one_by_one_each_being_looked_at() -> None:
    good = "https://storage.googleapis.com/x"
    assert await fetched(kaggle_addresses(KAGGLE), good, "/y", "//www.kaggle.com/z") == b"x"
    for bad in ("http://127.0.0.1/x", "https://evil.example/", "http://storage.googleapis.com/x"):
        with pytest.raises(UnknownAnswer, match="returned an address at"):
            await fetched(kaggle_addresses(KAGGLE), good, bad)
    with pytest.raises(UnknownAnswer, match="more than 5 times"):
        await fetched(kaggle_addresses(KAGGLE), *[good] * 6)


@pytest.mark.parametrize("url", ["http://[", "", "no address", "https://\x00/", "x" * 100_000])
async def test_what_is_no_address_at_all_is_an_error_of_ours(url: str) -> None:
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(redirecting())) as http:
        with pytest.raises(BotError):
            async with open_download(http, url, {}, kaggle_addresses(KAGGLE)):
                pass


def test_this_machine_is_known_by_its_names() -> None:
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "127.8.8.8", "::1", "[::1]")))
    assert not any(map(is_loopback, ("localhost.example", "10.0.0.1", "", "127.0.0.1.example")))
