"""Fetching one file: resumed after an interruption, checked, and present as a whole or not at all."""

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

from scrapers.http.addresses import open_download, public_addresses
from scrapers.http.responses import ATTEMPTS, RETRY_STATUSES, WINDOW, TransientFailure, steady_chunks
from state.errors import DownloadFailed, SiteUnavailable

SPARE_BYTES = 500_000_000
"""Left free on the disk."""
_WORTH = 1_000_000
"""Bytes beyond the furthest point so far that make an attempt count as progress."""
_LOOK_EVERY = 10_000_000
"""Bytes of a file of unknown length after which the free disk space is checked again."""
_EXPIRED = (401, 403, 404, 410)
"""Statuses of an address that has expired."""
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")

Opener = Callable[[str, Mapping[str, str]], AbstractAsyncContextManager[httpx2.Response]]
"""Opens an address, with headers and without content coding, following redirects; it may raise SiteUnavailable or a
transport error."""


@dataclass(frozen=True)
class Pin:
    """The identity of a file."""

    bytes: int
    sha256: str


@dataclass(frozen=True)
class _Version:
    """The server's version of the file of which a part is here."""

    etag: str
    modified: str
    total: int | None

    @property
    def validator(self) -> str:
        """The value for `If-Range`: a strong ETag, else the time of the last change; empty if there is neither."""
        return self.etag if self.etag.startswith('"') else self.modified

    @classmethod
    def from_response(cls, response: httpx2.Response, total: int | None) -> "_Version":
        return cls(response.headers.get("ETag", ""), response.headers.get("Last-Modified", ""), total)


@asynccontextmanager
async def public_opener(silence: float = 30.0) -> AsyncIterator[Opener]:
    """Yield an opener of public addresses, which gives up a server after `silence` seconds without a byte."""
    async with httpx2.AsyncClient(timeout=silence) as http:
        yield lambda url, headers: open_download(http, url, headers, public_addresses(url))


@dataclass
class Download:
    """Fetches one file into an existing folder; `run` may be cancelled at any point, and continues there later."""

    name: str
    """The file's name in errors."""
    address: Callable[[], Awaitable[str]]
    """Returns the file's address; called again when an address has expired."""
    target: Path
    open: Opener
    pin: Pin | None = None
    """The expected identity; None accepts any."""
    progress: Callable[[int, int | None], None] = lambda received, total: None
    """Receives the number of bytes so far, and the total if known."""
    spare: int = SPARE_BYTES
    """Bytes that must stay free on the disk."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    window: float = WINDOW
    """Seconds over which the rate is measured (see `steady_chunks`)."""
    _url: str | None = field(default=None, init=False)

    @property
    def part(self) -> Path:
        """The path of the incomplete file."""
        return self.target.with_name(f".{self.target.name}.part")

    @property
    def _note(self) -> Path:
        return self.target.with_name(f".{self.target.name}.part.json")

    def discard(self) -> None:
        """Remove what an earlier attempt left."""
        self.part.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)

    async def run(self) -> Pin:
        """Fetch the file, or the missing rest of it, and return its identity.

        Parts of two files are never joined: a part is resumed only if the server confirms that its file is still the
        same, or if the file is pinned, so that its hash shows it.

        Raises:
            DownloadFailed: it could not be fetched, or is not the expected file; then there is nothing at the target, and
                the part is kept if it may still be of use.
            OSError: it cannot be written.
            Also whatever `address` raises; the part is kept.
        """
        furthest, failures = self._part_bytes(), 0
        while True:
            asked_now = self._url is None
            url = self._url = self._url or await self.address()
            began_anew = self._part_bytes() == 0
            try:
                await self._fetch(url, asked_now)
                return await self._finish(began_anew)
            except (TransientFailure, SiteUnavailable, httpx2.TransportError) as error:
                failures = 0 if self._part_bytes() >= furthest + _WORTH else failures + 1
                furthest = max(furthest, self._part_bytes())
                if failures == ATTEMPTS:
                    reason = str(error) or type(error).__name__
                    raise DownloadFailed(
                        f"{self.name} could not be downloaded in {ATTEMPTS} attempts: {reason}"
                    ) from error
                await self.sleep(2.0 ** max(0, failures - 1))

    def _part_bytes(self) -> int:
        try:
            return self.part.stat().st_size
        except FileNotFoundError:
            return 0

    async def _finish(self, began_anew: bool) -> Pin:
        pin = await asyncio.to_thread(pin_of, self.part)
        if self.pin is not None and pin != self.pin:
            self.discard()
            if began_anew:
                raise DownloadFailed(f"{self.name} is not the listed file: its SHA-256 is {pin.sha256}")
            raise TransientFailure("the resumed download does not match")
        self.part.chmod(0o644)
        self.part.replace(self.target)
        self._note.unlink(missing_ok=True)
        return pin

    async def _fetch(self, url: str, asked_now: bool) -> None:
        """Fetch what is missing of the part; on return it is whole."""
        version, size = self._stored_version(), self._part_bytes()
        if self.pin is None and size and (version is None or not version.validator):
            self.discard()
            version, size = None, 0
        total = self.pin.bytes if self.pin else (version.total if version else None)
        if total is not None and size and size >= total:
            return
        headers = {}
        if size:
            headers["Range"] = f"bytes={size}-"
            if version and version.validator:
                headers["If-Range"] = version.validator
        async with self.open(url, headers) as response:
            self._check_status(response, asked_now=asked_now, size=size)
            start, total = self._place(response, version, size)
            self._check_size(total, start)
            if start == 0:
                self.part.write_bytes(b"")  # before the note, which would otherwise describe another file's bytes
                self._note.write_text(json.dumps(asdict(_Version.from_response(response, total))), encoding="utf-8")
            await self._write(response, start, total)

    def _check_status(self, response: httpx2.Response, *, asked_now: bool, size: int) -> None:
        status = response.status_code
        if status in RETRY_STATUSES:
            raise TransientFailure(f"the server returned status {status}")
        if status in _EXPIRED and not asked_now:
            self._url = None
            raise TransientFailure(f"the server returned status {status}")
        if status == 416 and size:
            self.discard()
            raise TransientFailure("the server's file is shorter than the downloaded part")
        if status not in (200, 206):
            raise DownloadFailed(f"{self.name}: the server returned status {status}")
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise DownloadFailed(f"{self.name}: the server sent an encoding that was not requested")

    def _place(self, response: httpx2.Response, version: _Version | None, size: int) -> tuple[int, int | None]:
        """Return the offset of the response's body, and the file's length. Raises TransientFailure if it does not fit."""
        if response.status_code == 200:
            length = response.headers.get("Content-Length", "")
            return 0, int(length) if length.isdecimal() else None
        match = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
        total = int(match[2]) if match and match[2] != "*" else None
        now = _Version.from_response(response, total)
        is_same = version is None or (
            (not now.etag or not version.etag or now.etag == version.etag) and version.total in (None, total)
        )
        if match is None or int(match[1]) != size or not is_same:
            self.discard()
            raise TransientFailure("the file has changed on the server")
        return size, total

    def _check_size(self, total: int | None, size: int) -> None:
        """Raise DownloadFailed before anything is written, if the size differs from the list or does not fit."""
        if self.pin is not None and total is not None and total != self.pin.bytes:
            raise DownloadFailed(f"{self.name} has {total} bytes, but the list says {self.pin.bytes}")
        expected = total if total is not None else (self.pin.bytes if self.pin else size)
        free = shutil.disk_usage(self.part.parent).free
        if expected - size + self.spare > free:
            raise DownloadFailed(
                f"{self.name}: {expected - size:,} more bytes are needed and {self.spare:,} must stay free, but "
                f"{self.part.parent} has only {free:,} free"
            )

    async def _write(self, response: httpx2.Response, size: int, total: int | None) -> None:
        limit = self.pin.bytes if self.pin else None
        with self.part.open("ab" if size else "wb") as file:
            looked_at = size
            async for chunk in steady_chunks(response, self.window):
                size += len(chunk)
                if limit is None and total is None and size - looked_at > _LOOK_EVERY:
                    self._check_size(None, size)
                    looked_at = size
                if limit is not None and size > limit:
                    raise DownloadFailed(f"{self.name} is larger than the {limit} bytes given in the list")
                file.write(chunk)
                self.progress(size, limit or total)
        expected = limit or total
        if expected is not None and size < expected:
            raise TransientFailure(f"the download ended after {size} of {expected} bytes")

    def _stored_version(self) -> _Version | None:
        try:
            return _Version(**json.loads(self._note.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None


def pin_of(path: Path) -> Pin:
    """Return a file's identity."""
    with path.open("rb") as file:
        return Pin(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())
