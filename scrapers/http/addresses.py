"""Where downloads may lead: strangers name their addresses, and redirect from there."""

import asyncio
import ipaddress
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager

import httpx2

from state.errors import DownloadFailed, SiteUnavailable, UnknownAnswer

Check = Callable[[httpx2.URL], Awaitable[None]]
"""Raises where nothing may be fetched from an address."""

_STORAGE = ("kaggle.com", "kaggle.io", "kaggle.net", "kaggleusercontent.com", "storage.googleapis.com")
"""Hosts, and all below them, at which Kaggle keeps what it has to download."""
_MOST_REDIRECTS = 5
_OPENING = 60.0
"""Seconds until the headers are there, whatever trickles in."""
_PORTS = 1 << 16


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine by its name."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def kaggles(site: str, hosts: Collection[str] = ()) -> Check:
    """Return what takes the addresses of a site of Kaggle's: its own host, Kaggle's storage, and what is configured.

    Args:
        site: address of its interface; one on this machine, a stand-in, may name this machine.
        hosts: more hosts; all below them are taken, too.
    """
    home = httpx2.URL(site).host
    known = (*_STORAGE, *(host.lower() for host in hosts))

    async def check(url: httpx2.URL) -> None:
        named = url.host == home or any(url.host == one or url.host.endswith(f".{one}") for one in known)
        here = is_loopback(home) and is_loopback(url.host)
        if not (here or (named and url.scheme == "https")) or not _is_served(url):
            raise UnknownAnswer(
                f"Kaggle names an address at {_place(url)}, which is not https at a host of its own; if that is right, "
                "name the host in `hosts` under [kaggle] in bot.toml"
            )

    return check


def public(first: str) -> Check:
    """Return what takes public addresses, never more in the clear than the first; others only where that is none itself."""
    asked = httpx2.URL(first)

    async def check(url: httpx2.URL) -> None:
        if not _is_served(url) or (asked.scheme == "https" and url.scheme != "https"):
            raise DownloadFailed(f"the download leads from {_place(asked)} to {_place(url)}, which is not safe")
        if url.host != asked.host and await _is_private(url.host) and not await _is_private(asked.host):
            raise DownloadFailed(
                f"the download leads from {_place(asked)} to {_place(url)}, which is no public address"
            )

    return check


@asynccontextmanager
async def following(
    http: httpx2.AsyncClient, url: str, headers: Mapping[str, str], check: Check
) -> AsyncIterator[httpx2.Response]:
    """Open a download, in no content coding, and follow its redirects to addresses that may be.

    Raises:
        UnknownAnswer: the address is none, or it is redirected too often.
        SiteUnavailable: nothing comes.
        Besides, whatever `check` raises, and httpx2's errors of the transport.
    """
    try:
        address = httpx2.URL(url)
    except (httpx2.InvalidURL, TypeError) as error:
        raise UnknownAnswer(f"{url[:200]!r} is no address: {error}") from error
    for _ in range(_MOST_REDIRECTS + 1):
        await check(address)
        request = http.build_request("GET", address, headers={**headers, "Accept-Encoding": "identity"})
        try:
            async with asyncio.timeout(_OPENING):
                response = await http.send(request, stream=True, follow_redirects=False)
        except TimeoutError:
            raise SiteUnavailable(f"{_place(address)} did not begin to answer within {_OPENING:g} s") from None
        try:
            if response.next_request is None:
                yield response
                return
            address = response.next_request.url
        finally:
            await response.aclose()
    raise UnknownAnswer(f"a download is redirected more than {_MOST_REDIRECTS} times, by now to {_place(address)}")


def _is_served(url: httpx2.URL) -> bool:
    return url.scheme in ("http", "https") and bool(url.host) and (url.port or 1) < _PORTS


def _place(url: httpx2.URL) -> str:
    return f"{url.scheme}://{url.netloc.decode('ascii', 'replace').rpartition('@')[2]}"[:200]


async def _is_private(host: str) -> bool:
    """Return whether a host is on this machine or in its network; one that only a proxy knows is not."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False
    return any(not ipaddress.ip_address(str(one[4][0]).partition("%")[0]).is_global for one in found)
