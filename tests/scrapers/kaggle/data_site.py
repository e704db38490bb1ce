"""A site on loopback that lists and serves one competition's data, as Kaggle does: as a zip at a signed address."""

import asyncio
import io
import random
import sys
import zipfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from scrapers.kaggle.client import KaggleClient
from scrapers.kaggle.credentials import Credentials
from scrapers.kaggle.data import CompetitionData
from scrapers.kaggle.pacing import Tally
from scrapers.kaggle.settings import KaggleSection, Pace, Timeouts
from tests.file_server import FileServer
from tests.scrapers.kaggle.parts import SetClock

SLUG = "house-pricing"
NOISE = random.Random(3).randbytes(300_000)
FILES = {
    "train.csv": b"id,size,price\n1,2,3\n",
    "test.csv": b"id,size\n7,8\n",
    "sample_submission.csv": b"id,price\n7,0\n",
    "images/a.bin": NOISE,
}
_SILENCE = 0.3


def zipped(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip of these files."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return content.getvalue()


@dataclass
class DataSite:
    """The site; `server` sets how badly it behaves."""

    server: FileServer
    listed: dict[str, int] = field(default_factory=dict)
    """Sizes as the site lists them."""
    created: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    """Methods that were called."""
    status: int = 200
    """Of all answers but downloads."""

    def __post_init__(self) -> None:
        self.server.post = self._post

    def serve(self, files: Mapping[str, bytes], archive: bytes | None = None, etag: str = '"one"') -> None:
        """List and serve these files, in another zip than theirs if one is given."""
        self.listed = {name: len(content) for name, content in files.items()}
        self.server.files["data.zip"] = zipped(files) if archive is None else archive
        self.server.etags["data.zip"] = etag

    @asynccontextmanager
    async def data(self, folder: Path, **more: Any) -> AsyncIterator[CompetitionData]:
        """Yield what fetches the data into a folder."""
        async with client_at(self.server.url("v1")) as client:
            yield CompetitionData(client, SLUG, folder, **{"spare": 0} | more)

    def _post(self, path: str, content: Any) -> tuple[int, dict[str, str], Any]:
        method = path.rsplit("/", 1)[-1]
        self.asked.append(method)
        if self.status != 200:
            return self.status, {}, {"code": self.status, "message": "Permission 'competitions.participate' was denied"}
        assert content["competitionName"] == SLUG
        if method == "DownloadDataFiles":
            return 302, {"Location": self.server.url(f"data.zip?signature={len(self.asked)}")}, {}
        assert method == "ListDataFiles"
        day = "2026-11-01T00:00:00Z"
        files = [{"name": n, "totalBytes": s, "creationDate": self.created.get(n, day)} for n, s in self.listed.items()]
        return 200, {}, {"files": files}


@asynccontextmanager
async def client_at(url: str) -> AsyncIterator[KaggleClient]:
    """Yield a client of the site, with a clock that nobody waits for."""
    timeouts = Timeouts(read=_SILENCE, total=5.0)
    pace = Pace(per_minute=1e6, burst=1000, min_interval=0.0)
    # Without certificates, which take a while to load, and are of no use on loopback.
    async with httpx2.AsyncClient(verify=False, timeout=_SILENCE) as http:
        key = Credentials("KGAT_x")
        yield KaggleClient(http, lambda: key, SetClock(), Tally(), KaggleSection(url=url, timeouts=timeouts, pace=pace))


async def _fetch(url: str, folder: Path) -> None:
    async with client_at(url) as client:
        data = CompetitionData(client, SLUG, folder, spare=0, progress=lambda one: print(one.activity, flush=True))
        await data.fetch()


if __name__ == "__main__":
    asyncio.run(_fetch(sys.argv[1], Path(sys.argv[2])))
