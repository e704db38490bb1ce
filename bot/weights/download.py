"""Fetching one file: resumed where it broke off, checked by its hash, there as a whole or not at all."""

import hashlib
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx2

from state.errors import DownloadFailed

_ATTEMPTS = 5
_SPARE_BYTES = 500_000_000
"""Left free on the disk."""
_AGAIN = (408, 425, 429, 500, 502, 503, 504)


@dataclass(frozen=True)
class Pin:
    """What a file must be."""

    bytes: int
    sha256: str


class _Interrupted(Exception):
    """An attempt that may go better next time."""


def open_client() -> httpx2.Client:
    """Return a client that follows redirects and waits for a silent server half a minute at most."""
    return httpx2.Client(follow_redirects=True, timeout=30.0, headers={"Accept-Encoding": "identity"})


def download(
    client: httpx2.Client,
    url: str,
    target: Path,
    pin: Pin | None,
    progress: Callable[[int], None],
    sleep: Callable[[float], None] = time.sleep,
) -> Pin:
    """Fetch a file into an existing folder and return what it is.

    What an earlier attempt has left in `.NAME.part` is gone on from, if the file is pinned: its hash shows whether the
    parts belong together.

    Args:
        client: See `open_client`.
        url: Where it lies.
        target: Its path.
        pin: What it must be; None takes it as it comes.
        progress: Told how many bytes there are by now.
        sleep: Waits between two attempts.

    Raises:
        DownloadFailed: it could not be had, or is not what it must be; nothing lies at `target` then.
    """
    part = target.with_name(f".{target.name}.part")
    if pin is None:
        part.unlink(missing_ok=True)
    for attempt in range(_ATTEMPTS):
        began_anew = not part.exists()
        try:
            _fetch(client, url, part, pin, progress)
            found = _pin_of(part)
            if pin is not None and found != pin:
                part.unlink()
                if began_anew:
                    raise DownloadFailed(f"{url} is not the file of the list: its SHA-256 is {found.sha256}")
                raise _Interrupted("what was resumed does not fit together")
            part.chmod(0o644)
            part.replace(target)
            return found
        except (_Interrupted, httpx2.TransportError) as error:
            if attempt == _ATTEMPTS - 1:
                raise DownloadFailed(
                    f"{url} could not be fetched in {_ATTEMPTS} attempts: {error or type(error).__name__}"
                ) from error
            sleep(2.0**attempt)
    raise AssertionError("unreachable")


def _fetch(client: httpx2.Client, url: str, part: Path, pin: Pin | None, progress: Callable[[int], None]) -> None:
    """Fetch what is missing of the part; on return it is whole."""
    have = part.stat().st_size if part.exists() else 0
    if pin is not None and have >= pin.bytes:
        return
    with client.stream("GET", url, headers={"Range": f"bytes={have}-"} if have else {}) as response:
        if response.status_code in _AGAIN:
            raise _Interrupted(f"the server answered {response.status_code}")
        resumed = response.status_code == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
        if not resumed:
            if response.status_code == 416 and have:
                part.unlink()
                raise _Interrupted("the server has less than was fetched")
            if response.status_code != 200:
                raise DownloadFailed(f"{url}: the server answered {response.status_code}")
            have = 0
        _check_size(response, url, part, have, pin)
        with part.open("ab" if resumed else "wb") as file:
            for chunk in response.iter_bytes():
                have += len(chunk)
                if pin is not None and have > pin.bytes:
                    raise DownloadFailed(f"{url} has more than the {pin.bytes} bytes of the list")
                file.write(chunk)
                progress(have)
    if pin is not None and have < pin.bytes:
        raise _Interrupted(f"it ended after {have} of {pin.bytes} bytes")


def _check_size(response: httpx2.Response, url: str, part: Path, have: int, pin: Pin | None) -> None:
    """Raise DownloadFailed before anything is written, if it is another size than the list says, or does not fit."""
    told = response.headers.get("Content-Length", "")
    coming = int(told) if told.isdecimal() else (pin.bytes - have if pin else 0)
    if pin is not None and have + coming != pin.bytes:
        raise DownloadFailed(f"{url} has {have + coming} bytes, not the {pin.bytes} of the list")
    free = shutil.disk_usage(part.parent).free
    if coming + _SPARE_BYTES > free:
        raise DownloadFailed(f"{url}: {coming} bytes are to come, but {part.parent} has only {free} left")


def _pin_of(path: Path) -> Pin:
    with path.open("rb") as file:
        return Pin(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())
