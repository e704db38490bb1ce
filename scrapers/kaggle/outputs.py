"""Output files of public kernels, kept only to be compared with our own submissions before these are sent."""

import hashlib
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from sqlmodel import col, select

from scrapers.http.responses import steady_chunks
from scrapers.kaggle.client import KaggleClient
from scrapers.kaggle.kernels import Kernels, OutputFile
from state.errors import KaggleError, NotAuthenticated, RateLimited, SiteUnavailable
from state.series import last_readings, take_reading
from state.store import Store
from state.tables import KernelVersion, PolledKernel

_PAGES = 3
_FILES = 3
"""Of one version: a notebook may write a submission of each of its models."""
_TRIES = 5
_GONE_STATUSES = (404, 410)
_LIKELY = re.compile(r"sub", re.IGNORECASE)
_SAFE = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True)
class PublicOutputs:
    """The submission files of a competition's public kernels, in a folder."""

    client: KaggleClient
    store: Store
    competition: str
    folder: Path
    """Receives `<owner>__<kernel>/<version>-<name>.csv`."""
    submission_file: str
    largest: int
    """Bytes of one file; a larger one is not fetched."""
    most: int
    """Bytes of all that is kept; beyond it the oldest go."""

    async def collect(self, limit: int) -> int:
        """Fetch what kernels' current versions wrote that were not looked at yet, the last ones run first; return how many.

        A kernel that shows nothing is not asked again before it is run anew; one that cannot be read keeps no other from being
        read, and is given up for the time being when it has failed `_TRIES` times.

        Raises:
            NotAuthenticated, RateLimited: nothing more can be read now; what was read stays.
            OSError: a file cannot be written.
        """
        due = self._due()[:limit]
        for kernel, failed in due:
            result: dict[str, Any] = {"version": kernel.current_id, "files": []}
            try:
                result["files"] = await self._fetched(kernel)
            except (NotAuthenticated, RateLimited):
                raise
            except SiteUnavailable as error:
                result |= {"failed": failed + 1, "why": str(error)}
            except KaggleError as error:
                result["why"] = str(error)
            with self.store.write(durable=False) as tx:
                take_reading(tx, self.competition, "output", kernel.id, result)
            self._bound()
        return len(due)

    def _due(self) -> list[tuple[PolledKernel, int]]:
        """Return the kernels whose current version was not looked at, and how often that has failed."""
        competition = self.competition
        query = (
            select(PolledKernel)
            .where(PolledKernel.competition == competition, col(PolledKernel.gone_at).is_(None))
            .where(col(PolledKernel.current_id).is_not(None))
            .order_by(col(PolledKernel.last_run_at).desc())
        )
        with self.store.read() as session:
            results = {name: row.data for (_, name), row in last_readings(session, competition, "output").items()}
            kernels = session.exec(query).all()
        due = []
        for kernel in kernels:
            last = results.get(kernel.id, {})
            failed = int(last.get("failed", 0)) if last.get("version") == kernel.current_id else 0
            if last.get("version") != kernel.current_id or 0 < failed < _TRIES:
                due.append((kernel, failed))
        return due

    async def _fetched(self, kernel: PolledKernel) -> list[str]:
        """Fetch a kernel's files, and return their names here."""
        files = await self._listed(kernel)
        submissions = [file for file in files if PurePosixPath(file.file_name).name == self.submission_file]
        likely = [
            file for file in files if file not in submissions and _LIKELY.search(PurePosixPath(file.file_name).name)
        ]
        names = []
        for number, file in enumerate([*submissions, *likely][:_FILES]):
            name = f"{_safe(kernel.ref.replace('/', '__'))}/{_safe(kernel.current_id or '')}-{number}.csv"
            target = self.folder / name
            if await bring(self.client, file.url, target, min(self.largest, self.most)):
                names.append(name)
                if kernel.last_run_at is not None:  # by which the oldest go
                    os.utime(target, (kernel.last_run_at.timestamp(),) * 2)
        return names

    async def _listed(self, kernel: PolledKernel) -> list[OutputFile]:
        files: list[OutputFile] = []
        token = ""
        with self.store.read() as session:
            read = session.get(KernelVersion, (self.competition, kernel.current_id))
        for _ in range(_PAGES):
            page = await Kernels(self.client).outputs(kernel.ref, None if read is None else read.version, token)
            files += [file for file in page.files if file.url and file.file_name.lower().endswith(".csv")]
            token = page.next_page_token
            if not token:
                break
        return files

    def _bound(self) -> None:
        """Remove the oldest files beyond what may be kept."""
        files = sorted(self.folder.rglob("*.csv"), key=lambda path: path.stat().st_mtime, reverse=True)
        total = 0
        for path in files:
            total += path.stat().st_size
            if total > self.most:
                path.unlink()
                with suppress(OSError):  # it holds others
                    path.parent.rmdir()


async def bring(client: KaggleClient, url: str, target: Path, largest: int) -> bool:
    """Write what lies at an address, and return True, unless it has more bytes than `largest`, or is not there any more.

    Raises SiteUnavailable, UnknownAnswer: see `KaggleClient.stream`; OSError: it cannot be written.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(".part")
    size = 0
    try:
        async with client.stream(url) as response:
            if response.status_code in _GONE_STATUSES:
                return False
            if not response.is_success:
                raise SiteUnavailable(f"a kernel's file was answered with {response.status_code}")
            with partial.open("wb") as file:
                async for chunk in steady_chunks(response):
                    size += len(chunk)
                    if size > largest:
                        return False
                    file.write(chunk)
        partial.rename(target)
    finally:
        partial.unlink(missing_ok=True)
    return True


def _safe(name: str) -> str:
    """Return a name that is one plain part of a path; a hash distinguishes names with characters left out."""
    plain = _SAFE.sub("_", name).strip(".")[:80]
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()
    return plain if plain and plain == name else f"{plain}-{digest[:8]}"
