"""Fetching one file: gone on from where it broke off, checked, there as a whole or not at all."""

import asyncio
import hashlib
import json
import re
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import httpx2

from scrapers.http.addresses import following, public
from scrapers.http.receiving import WINDOW, steadily
from state.errors import DownloadFailed, SiteUnavailable

SPARE_BYTES = 500_000_000
"""Left free on the disk."""
_ATTEMPTS = 5
"""In a row that bring nothing worth mentioning."""
_WORTH = 1_000_000
"""Bytes further than ever before for which an attempt was not in vain."""
_LOOK_EVERY = 10_000_000
"""Bytes of a file of unknown length after which the disk is looked at again."""
_AGAIN = (408, 425, 429, 500, 502, 503, 504)
_EXPIRED = (401, 403, 404, 410)
"""What an address may be answered with that was good once."""
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")

Opening = Callable[[str, Mapping[str, str]], AbstractAsyncContextManager[httpx2.Response]]
"""Opens an address, with headers, in no content coding, following redirects; it may raise SiteUnavailable or an error of
the transport."""


@dataclass(frozen=True)
class Pin:
    """What a file must be, or is."""

    bytes: int
    sha256: str


class _Interrupted(Exception):
    """An attempt that may go better next time."""


@dataclass(frozen=True)
class _Version:
    """What the server said of the file of which a part is here."""

    etag: str
    modified: str
    total: int | None

    @property
    def validator(self) -> str:
        """What `If-Range` takes: a strong ETag, else the time of the last change; empty where there is neither."""
        return self.etag if self.etag.startswith('"') else self.modified

    @classmethod
    def of(cls, response: httpx2.Response, total: int | None) -> "_Version":
        return cls(response.headers.get("ETag", ""), response.headers.get("Last-Modified", ""), total)


@asynccontextmanager
async def opening(silence: float = 30.0) -> AsyncIterator[Opening]:
    """Yield what opens public addresses, and gives a server up that is silent for so many seconds."""
    async with httpx2.AsyncClient(timeout=silence) as http:
        yield lambda url, headers: following(http, url, headers, public(url))


@dataclass
class Download:
    """Fetches one file into an existing folder; `run` may be cancelled at any point, and goes on from there later."""

    name: str
    """How errors call the file."""
    address: Callable[[], Awaitable[str]]
    """Tells where it lies; asked again where the address is no longer good."""
    target: Path
    open: Opening
    pin: Pin | None = None
    """What it must be; None takes it as it comes."""
    progress: Callable[[int, int | None], None] = lambda have, total: None
    """Told how many bytes there are by now, and of how many, if that is known."""
    spare: int = SPARE_BYTES
    """Bytes that must be left on the disk when it is there."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    window: float = WINDOW
    """Seconds over which it must not come too slowly (see `steadily`)."""
    _url: str | None = field(default=None, init=False)

    @property
    def part(self) -> Path:
        """What is here of it before it is whole."""
        return self.target.with_name(f".{self.target.name}.part")

    @property
    def _note(self) -> Path:
        return self.target.with_name(f".{self.target.name}.part.json")

    def discard(self) -> None:
        """Throw away what an earlier attempt has left."""
        self.part.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)

    async def run(self) -> Pin:
        """Fetch it, or what is missing of it, and return what it is.

        Parts of two files are never put together: a part is gone on from if the server says that its file is still the
        same, or if the file is pinned, so that its hash shows it.

        Raises:
            DownloadFailed: it could not be had, or is not what it must be; nothing lies at the target then, and what came
                is kept if it can be of use.
            OSError: it cannot be written.
            Whatever `address` raises; what came is kept.
        """
        furthest, in_vain = self._have(), 0
        while True:
            asked_now = self._url is None
            url = self._url = self._url or await self.address()
            began_anew = self._have() == 0
            try:
                await self._fetch(url, asked_now)
                return await self._finish(began_anew)
            except (_Interrupted, SiteUnavailable, httpx2.TransportError) as error:
                in_vain = 0 if self._have() >= furthest + _WORTH else in_vain + 1
                furthest = max(furthest, self._have())
                if in_vain == _ATTEMPTS:
                    why = str(error) or type(error).__name__
                    raise DownloadFailed(f"{self.name} could not be fetched in {_ATTEMPTS} attempts: {why}") from error
                await self.sleep(2.0 ** max(0, in_vain - 1))

    def _have(self) -> int:
        try:
            return self.part.stat().st_size
        except FileNotFoundError:
            return 0

    async def _finish(self, began_anew: bool) -> Pin:
        found = await asyncio.to_thread(pin_of, self.part)
        if self.pin is not None and found != self.pin:
            self.discard()
            if began_anew:
                raise DownloadFailed(f"{self.name} is not the file of the list: its SHA-256 is {found.sha256}")
            raise _Interrupted("what was resumed does not fit together")
        self.part.chmod(0o644)
        self.part.replace(self.target)
        self._note.unlink(missing_ok=True)
        return found

    async def _fetch(self, url: str, asked_now: bool) -> None:
        """Fetch what is missing of the part; on return it is whole."""
        known, have = self._known(), self._have()
        if self.pin is None and have and (known is None or not known.validator):
            self.discard()
            known, have = None, 0
        total = self.pin.bytes if self.pin else (known.total if known else None)
        if total is not None and have and have >= total:
            return
        headers = {}
        if have:
            headers["Range"] = f"bytes={have}-"
            if known and known.validator:
                headers["If-Range"] = known.validator
        async with self.open(url, headers) as response:
            self._check_status(response, asked_now=asked_now, have=have)
            start, total = self._place(response, known, have)
            self._check_size(total, start)
            if start == 0:
                self.part.write_bytes(b"")  # before the note, which would else speak of another file's bytes
                self._note.write_text(json.dumps(asdict(_Version.of(response, total))), encoding="utf-8")
            await self._write(response, start, total)

    def _check_status(self, response: httpx2.Response, *, asked_now: bool, have: int) -> None:
        status = response.status_code
        if status in _AGAIN:
            raise _Interrupted(f"the server answered {status}")
        if status in _EXPIRED and not asked_now:
            self._url = None
            raise _Interrupted(f"the address was answered with {status}")
        if status == 416 and have:
            self.discard()
            raise _Interrupted("the server has less than was fetched")
        if status not in (200, 206):
            raise DownloadFailed(f"{self.name}: the server answered {status}")
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise DownloadFailed(f"{self.name}: the server sends it encoded, which was not asked for")

    def _place(self, response: httpx2.Response, known: _Version | None, have: int) -> tuple[int, int | None]:
        """Return where what comes belongs, and how long the file is. Raises _Interrupted where it fits to nothing."""
        if response.status_code == 200:
            told = response.headers.get("Content-Length", "")
            return 0, int(told) if told.isdecimal() else None
        match = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
        total = int(match[2]) if match and match[2] != "*" else None
        now = _Version.of(response, total)
        same = known is None or (
            (not now.etag or not known.etag or now.etag == known.etag) and known.total in (None, total)
        )
        if match is None or int(match[1]) != have or not same:
            self.discard()
            raise _Interrupted("the file has changed at the server")
        return have, total

    def _check_size(self, total: int | None, have: int) -> None:
        """Raise DownloadFailed before anything is written, if it is another size than the list says, or does not fit."""
        if self.pin is not None and total is not None and total != self.pin.bytes:
            raise DownloadFailed(f"{self.name} has {total} bytes, not the {self.pin.bytes} of the list")
        expected = total if total is not None else (self.pin.bytes if self.pin else have)
        free = shutil.disk_usage(self.part.parent).free
        if expected - have + self.spare > free:
            raise DownloadFailed(
                f"{self.name}: {expected - have:,} bytes are to come and {self.spare:,} are to be left, but "
                f"{self.part.parent} has only {free:,} free"
            )

    async def _write(self, response: httpx2.Response, have: int, total: int | None) -> None:
        limit = self.pin.bytes if self.pin else None
        with self.part.open("ab" if have else "wb") as file:
            looked_at = have
            async for chunk in steadily(response, self.window):
                have += len(chunk)
                if limit is None and total is None and have - looked_at > _LOOK_EVERY:
                    self._check_size(None, have)
                    looked_at = have
                if limit is not None and have > limit:
                    raise DownloadFailed(f"{self.name} has more than the {limit} bytes of the list")
                file.write(chunk)
                self.progress(have, limit or total)
        expected = limit or total
        if expected is not None and have < expected:
            raise _Interrupted(f"it ended after {have} of {expected} bytes")

    def _known(self) -> _Version | None:
        try:
            return _Version(**json.loads(self._note.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None


def pin_of(path: Path) -> Pin:
    """Return what a file is."""
    with path.open("rb") as file:
        return Pin(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())
