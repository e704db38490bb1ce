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
    max_file_bytes: int
    """A larger file is not fetched."""
    max_bytes: int
    """Bytes of all files; beyond it the oldest are removed."""

    async def collect(self, limit: int) -> int:
        """Fetch what current versions of kernels wrote that were not looked at yet, the latest runs first; return how many.

        A kernel without output is not asked again before its next run. One that cannot be read does not stop the others, and is
        skipped until its next run once it has failed `_TRIES` times.

        Raises:
            NotAuthenticated, RateLimited: nothing more can be read now; what was read stays.
            OSError: a file cannot be written.
        """
        due = self._due()[:limit]
        for kernel, failed in due:
            result: dict[str, Any] = {"version": kernel.current_id, "files": []}
            try:
                result["files"] = await self._fetch(kernel)
            except (NotAuthenticated, RateLimited):
                raise
            except SiteUnavailable as error:
                result |= {"failed": failed + 1, "why": str(error)}
            except KaggleError as error:
                result["why"] = str(error)
            with self.store.write(durable=False) as tx:
                take_reading(tx, self.competition, "output", kernel.id, result)
            self._remove_oldest()
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

    async def _fetch(self, kernel: PolledKernel) -> list[str]:
        files = await self._list_files(kernel)
        submissions = [file for file in files if PurePosixPath(file.file_name).name == self.submission_file]
        likely = [
            file for file in files if file not in submissions and _LIKELY.search(PurePosixPath(file.file_name).name)
        ]
        names = []
        for number, file in enumerate([*submissions, *likely][:_FILES]):
            name = f"{_safe(kernel.ref.replace('/', '__'))}/{_safe(kernel.current_id or '')}-{number}.csv"
            target = self.folder / name
            if await download_output(self.client, file.url, target, min(self.max_file_bytes, self.max_bytes)):
                names.append(name)
                if kernel.last_run_at is not None:  # by which the oldest go
                    os.utime(target, (kernel.last_run_at.timestamp(),) * 2)
        return names

    async def _list_files(self, kernel: PolledKernel) -> list[OutputFile]:
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

    def _remove_oldest(self) -> None:
        files = sorted(self.folder.rglob("*.csv"), key=lambda path: path.stat().st_mtime, reverse=True)
        total = 0
        for path in files:
            total += path.stat().st_size
            if total > self.max_bytes:
                path.unlink()
                with suppress(OSError):  # it has other files
                    path.parent.rmdir()


async def download_output(client: KaggleClient, url: str, target: Path, max_bytes: int) -> bool:
    """Download what lies at an address, and return True; return False if it is gone, or larger than `max_bytes`.

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
                raise SiteUnavailable(f"the download of a notebook's output returned status {response.status_code}")
            with partial.open("wb") as file:
                async for chunk in steady_chunks(response):
                    size += len(chunk)
                    if size > max_bytes:
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
