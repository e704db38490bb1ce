"""Addresses that downloads may use: strangers choose them, and may redirect elsewhere."""

import asyncio
import ipaddress
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager

import httpx2

from state.errors import DownloadFailed, SiteUnavailable, UnknownAnswer

Check = Callable[[httpx2.URL], Awaitable[None]]
"""Raises if nothing may be fetched from an address."""

_STORAGE = ("kaggle.com", "kaggle.io", "kaggle.net", "kaggleusercontent.com", "storage.googleapis.com")
"""Hosts, with all their subdomains, where Kaggle stores its downloads."""
_MOST_REDIRECTS = 5
_OPENING = 60.0
"""Seconds until the headers must be complete, even if bytes trickle in."""
_PORTS = 1 << 16


def is_loopback(host: str) -> bool:
    """Return whether a host's name means this machine."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def kaggle_addresses(site: str, hosts: Collection[str] = ()) -> Check:
    """Return a check that accepts a Kaggle site's addresses: its own host, Kaggle's storage, and configured hosts.

    Hosts are meant with all their subdomains. A stand-in on this machine may name this machine.
    """
    home = httpx2.URL(site).host
    suffixes = (*_STORAGE, *(host.lower() for host in hosts))

    async def check(url: httpx2.URL) -> None:
        is_known = url.host == home or any(url.host == suffix or url.host.endswith(f".{suffix}") for suffix in suffixes)
        is_local = is_loopback(home) and is_loopback(url.host)
        if not (is_local or (is_known and url.scheme == "https")) or not _is_served(url):
            raise UnknownAnswer(
                f"Kaggle returned an address at {_place(url)}, which is not an https address on one of its hosts; "
                "if you trust it, add the host to `hosts` under [kaggle] in bot.toml"
            )

    return check


def public_addresses(first: str) -> Check:
    """Return a check that accepts public addresses, and https only if the first one is https.

    If the first address is itself private, other private ones are accepted too.
    """
    requested = httpx2.URL(first)

    async def check(url: httpx2.URL) -> None:
        if not _is_served(url) or (requested.scheme == "https" and url.scheme != "https"):
            raise DownloadFailed(f"the download redirects from {_place(requested)} to {_place(url)}, which is not safe")
        if url.host != requested.host and await _is_private(url.host) and not await _is_private(requested.host):
            raise DownloadFailed(
                f"the download redirects from {_place(requested)} to {_place(url)}, which is not a public address"
            )

    return check


@asynccontextmanager
async def open_download(
    http: httpx2.AsyncClient, url: str, headers: Mapping[str, str], check: Check
) -> AsyncIterator[httpx2.Response]:
    """Open a download without content coding, and follow its redirects to permitted addresses.

    Raises:
        UnknownAnswer: the address is invalid, or there are too many redirects.
        SiteUnavailable: there is no answer in time.
        Also whatever `check` raises, and httpx2's transport errors.
    """
    try:
        address = httpx2.URL(url)
    except (httpx2.InvalidURL, TypeError) as error:
        raise UnknownAnswer(f"{url[:200]!r} is not a valid URL: {error}") from error
    for _ in range(_MOST_REDIRECTS + 1):
        await check(address)
        request = http.build_request("GET", address, headers={**headers, "Accept-Encoding": "identity"})
        try:
            async with asyncio.timeout(_OPENING):
                response = await http.send(request, stream=True, follow_redirects=False)
        except TimeoutError:
            raise SiteUnavailable(f"{_place(address)} did not answer within {_OPENING:g} s") from None
        try:
            if response.next_request is None:
                yield response
                return
            address = response.next_request.url
        finally:
            await response.aclose()
    raise UnknownAnswer(f"a download was redirected more than {_MOST_REDIRECTS} times, last to {_place(address)}")


def _is_served(url: httpx2.URL) -> bool:
    return url.scheme in ("http", "https") and bool(url.host) and (url.port or 1) < _PORTS


def _place(url: httpx2.URL) -> str:
    return f"{url.scheme}://{url.netloc.decode('ascii', 'replace').rpartition('@')[2]}"[:200]


async def _is_private(host: str) -> bool:
    """Return whether a host is on this machine or in its network; a host that only a proxy can resolve is not."""
    try:
        results = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False
    return any(not ipaddress.ip_address(str(result[4][0]).partition("%")[0]).is_global for result in results)
