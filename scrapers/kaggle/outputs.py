"""Files that public kernels have written: kept to be compared with what we are about to submit, and for nothing else."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from sqlmodel import col, select

from scrapers.kaggle.client import KaggleClient
from scrapers.kaggle.kernels import Kernels, OutputFile
from state.errors import KaggleError, NotAuthenticated
from state.polled import PolledKernel
from state.series import last_of_each, take_reading
from state.store import Store

__all__ = ["PublicOutputs"]

_PAGES = 3
_FILES = 3
"""Of one version: a notebook may write a submission of each of its models."""
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
    """Bytes of one file; a larger one is left there."""
    most: int
    """Bytes of all that is kept; beyond it the oldest go."""

    async def collect(self, at_once: int) -> int:
        """Fetch what kernels' current versions wrote that were not looked at yet, the last ones run first.

        A kernel that shows nothing is not asked again before it is run anew.

        Args:
            at_once: kernels that are asked at the most.

        Returns:
            How many were asked.

        Raises:
            NotAuthenticated, SiteUnavailable: nothing more can be read now; what was read stays.
            OSError: a file cannot be written.
        """
        due = self._due()[:at_once]
        for kernel in due:
            try:
                kept = await self._fetched(kernel)
                told = {"version": kernel.current_id, "files": kept}
            except NotAuthenticated:
                raise
            except KaggleError as error:
                told = {"version": kernel.current_id, "files": [], "why": str(error)}
            with self.store.write(durable=False) as tx:
                take_reading(tx, self.competition, "output", kernel.id, told)
        self._bound()
        return len(due)

    def _due(self) -> list[PolledKernel]:
        here = self.competition
        query = (
            select(PolledKernel)
            .where(PolledKernel.competition == here, col(PolledKernel.gone_at).is_(None))
            .where(col(PolledKernel.current_id).is_not(None))
            .order_by(col(PolledKernel.last_run_at).desc())
        )
        with self.store.read() as session:
            looked_at = {
                name: row.data.get("version") for (_, name), row in last_of_each(session, here, "output").items()
            }
            kernels = session.exec(query).all()
        return [kernel for kernel in kernels if looked_at.get(kernel.id) != kernel.current_id]

    async def _fetched(self, kernel: PolledKernel) -> list[str]:
        """Fetch a kernel's files, and return their names here."""
        files = await self._listed(kernel)
        own = [one for one in files if PurePosixPath(one.file_name).name == self.submission_file]
        likely = [one for one in files if one not in own and _LIKELY.search(PurePosixPath(one.file_name).name)]
        kept = []
        for number, file in enumerate([*own, *likely][:_FILES]):
            name = f"{_safe(kernel.ref.replace('/', '__'))}/{_safe(kernel.current_id or '')}-{number}.csv"
            if await self._bring(file.url, self.folder / name):
                kept.append(name)
        return kept

    async def _listed(self, kernel: PolledKernel) -> list[OutputFile]:
        files: list[OutputFile] = []
        token = ""
        for _ in range(_PAGES):
            page = await Kernels(self.client).outputs(kernel.ref, kernel.number, token)
            files += [one for one in page.files if one.url and one.file_name.lower().endswith(".csv")]
            token = page.next_page_token
            if not token:
                break
        return files

    async def _bring(self, url: str, target: Path) -> bool:
        """Write what lies at an address, and return True, unless it is too large or is not there any more."""
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_suffix(".part")
        size = 0
        try:
            async with self.client.stream(url) as response:
                if not response.is_success:
                    return False
                with partial.open("wb") as file:
                    async for chunk in response.aiter_bytes():
                        size += len(chunk)
                        if size > self.largest:
                            return False
                        file.write(chunk)
            partial.rename(target)
        finally:
            partial.unlink(missing_ok=True)
        return True

    def _bound(self) -> None:
        """Remove the oldest files beyond what may be kept."""
        files = sorted(self.folder.rglob("*.csv"), key=lambda path: path.stat().st_mtime, reverse=True)
        total = 0
        for path in files:
            total += path.stat().st_size
            if total > self.most:
                path.unlink()


def _safe(name: str) -> str:
    """Return a name that is one plain part of a path; what was left out of it is told apart by a hash."""
    plain = _SAFE.sub("_", name).strip(".")[:80]
    return plain if plain == name else f"{plain}-{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()[:8]}"
