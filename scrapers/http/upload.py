"""Uploading one file to a resumable address: gone on with where it broke off, in a time that grows with its size.

Source: https://cloud.google.com/storage/docs/performing-resumable-uploads, which is where Kaggle's uploads go.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import httpx2

from scrapers.http.responses import ATTEMPTS, RETRY_STATUSES, SLOWEST, TransientFailure
from state.errors import SiteUnavailable

_CHUNK = 1 << 18
_SUCCESS_STATUSES = (200, 201)
_INCOMPLETE = 308
_ARRIVED = re.compile(r"bytes=0-(\d+)")


@dataclass(frozen=True)
class Upload:
    """Uploads a file, which must not change meanwhile."""

    http: httpx2.AsyncClient
    url: str
    file: Path
    seconds: float
    """Longest time of an attempt, besides that for its bytes at `SLOWEST`."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def run(self) -> None:
        """Upload it.

        Raises SiteUnavailable: it did not arrive as a whole; nothing is submitted by that; OSError: it cannot be read.
        """
        size = self.file.stat().st_size
        size_there, furthest, failures = 0, 0, 0
        while True:
            try:
                async with asyncio.timeout(self.seconds + (size - size_there) / SLOWEST):
                    await self._send(size_there, size)
                return
            except TimeoutError:
                reason = "it did not finish in time"
            except (TransientFailure, httpx2.HTTPError) as error:
                reason = str(error) or type(error).__name__
            try:
                async with asyncio.timeout(self.seconds):
                    size_there = await self._arrived(size)
            except (TimeoutError, TransientFailure, httpx2.HTTPError):
                size_there = furthest  # it is asked again after the next attempt
            if size_there == size:
                return
            failures = 0 if size_there > furthest else failures + 1
            furthest = max(furthest, size_there)
            if failures == ATTEMPTS:
                raise SiteUnavailable(f"the upload was interrupted: {reason}")
            await self.sleep(2.0**failures)

    async def _send(self, start: int, size: int) -> None:
        headers = {"Content-Length": str(size - start), "Content-Type": "application/octet-stream"}
        if start:
            headers["Content-Range"] = f"bytes {start}-{size - 1}/{size}"
        async with self.http.stream("PUT", self.url, content=self._read_from(start), headers=headers) as response:
            await self._check(response)
            if response.status_code == _INCOMPLETE:
                raise TransientFailure("only part of the file has arrived")

    async def _arrived(self, size: int) -> int:
        headers = {"Content-Length": "0", "Content-Range": f"bytes */{size}"}
        async with self.http.stream("PUT", self.url, headers=headers) as response:
            await self._check(response)
            match = _ARRIVED.fullmatch(response.headers.get("Range", ""))
            if response.status_code in _SUCCESS_STATUSES:
                return size
            return min(int(match[1]) + 1, size) if match else 0

    async def _check(self, response: httpx2.Response) -> None:
        status = response.status_code
        await response.aread()  # one that breaks off in the middle says nothing
        if response.headers.get("Content-Type", "").startswith("text/html"):
            raise TransientFailure(f"the server returned a web page with status {status}")
        if status in RETRY_STATUSES:
            raise TransientFailure(f"the server returned status {status}")
        if status not in (*_SUCCESS_STATUSES, _INCOMPLETE):
            raise SiteUnavailable(f"the upload failed with status {status}")

    async def _read_from(self, start: int) -> AsyncIterator[bytes]:
        with self.file.open("rb") as content:
            content.seek(start)
            while chunk := content.read(_CHUNK):
                yield chunk
