"""Downloads lead where they may, and nowhere else, whatever an address or a redirect names."""

from collections.abc import Callable

import httpx2
import pytest

from scrapers.http.addresses import Check, is_loopback, kaggle_addresses, open_download, public_addresses
from state.errors import BotError, DownloadFailed, UnknownAnswer

KAGGLE = "https://api.kaggle.com/v1"
STAND_IN = "http://127.0.0.1:8899/v1"


@pytest.mark.parametrize(
    "url",
    [
        *(
            "https://api.kaggle.com/x",
            "https://www.kaggle.com/x",
            "https://storage.googleapis.com/kaggle-data/a.zip?sig=1",
        ),
        *("https://www.kaggleusercontent.com/kf/1", "https://kkb-production.jupyter-proxy.kaggle.net/x"),
        *("https://data.configured.example/x", "https://configured.example/x"),
    ],
)
async def test_kaggles_own_hosts_and_those_configured_are_taken(url: str) -> None:
    await kaggle_addresses(KAGGLE, ["configured.example"])(httpx2.URL(url))


STRANGE = (
    *("http://127.0.0.1/", "https://127.0.0.1/", "http://localhost:8899/", "https://[::1]/", "http://169.254.169.254/"),
    *(
        "https://10.0.0.1/",
        "https://evil.example/",
        "http://storage.googleapis.com/x",
        "file:///etc/passwd",
        "https:///x",
    ),
    *(
        "https://kaggle.com.evil.example/",
        "https://evilkaggle.com/",
        "https://kaggle.com@evil.example/",
        "//evil.example/",
    ),
    *("https://storage.googleapis.com:99999/x", "ftp://kaggle.com/", "https://2130706433/", "https://0x7f.1/"),
)


@pytest.mark.parametrize("url", STRANGE)
async def test_what_is_no_host_of_kaggles_is_refused(url: str) -> None:
    with pytest.raises(UnknownAnswer, match=r"which is not https at a host of its own; .* `hosts` under \[kaggle\]"):
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
        *(
            "https://127.0.0.1/x",
            "https://localhost/x",
            "https://[::1]/x",
            "https://10.1.2.3/x",
            "https://192.168.0.1/x",
        ),
        *("https://169.254.169.254/latest", "https://[::ffff:127.0.0.1]/x", "https://0.0.0.0/x", "http://8.8.8.8/x"),
        *("https://[fe80::1]/x", "https://100.64.0.1/x", "https://8.8.8.8:99999/x", "file:///etc/passwd"),
    ],
)
async def test_a_public_download_never_leads_into_this_machines_network_nor_into_the_clear(url: str) -> None:
    with pytest.raises(DownloadFailed, match=r"leads from https://8\.8\.4\.4 to "):
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
        with pytest.raises(UnknownAnswer, match="names an address at"):
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
