"""What the tests of the stand-in site share: a clock that is set by hand, a client, and a site on the small snapshot."""

import json
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2

from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.simulator.site.competition import SimulatedCompetition
from bot.simulator.site.faults import Faults
from bot.simulator.site.serving import serving
from bot.simulator.site.settings import SiteSettings
from bot.simulator.site.site import Site
from bot.simulator.site.time_shift import align_starts
from sandbox import Sandbox
from scrapers.snapshots.snapshot import Snapshot
from tests.tiny_snapshot import SLUG, write_tiny

COMPETITIONS = "competitions.CompetitionApiService"
KERNELS = "kernels.KernelsApiService"
DATASETS = "datasets.DatasetApiService"
BLOBS = "blobs.BlobApiService"
DISCUSSIONS = "discussions.DiscussionApiService"
SEARCH = "search.SearchApiService"
START = datetime(2020, 1, 10, 12, tzinfo=UTC)
"""Ten days into the small competition."""
DEADLINE = datetime(2020, 3, 1, tzinfo=UTC)
TWIN = "tiny-twin"
TWIN_DEADLINE = datetime(2020, 2, 29, tzinfo=UTC)
"""As it is when both begin together; 2020 is a leap year, and 2023 is not."""


class HandClock:
    """A clock that stands still until it is set."""

    def __init__(self, time: datetime) -> None:
        self.time = time

    def now(self) -> datetime:
        return self.time

    def as_of(self) -> datetime:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)

    def pass_by(self, **span: float) -> None:
        self.time += timedelta(**span)


@dataclass(frozen=True)
class Client:
    """Speaks to a site as a client of the API does."""

    url: str
    http: httpx2.Client
    token: str = "KGAT_rehearsal"
    slug: str = SLUG

    def post(self, method: str, **body: Any) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {self.token}"}
        return self.http.post(f"{self.url}/v1/{method}", json=body, headers=headers)

    def ask(self, method: str, **body: Any) -> dict[str, Any]:
        answer = self.post(method, **body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def compete(self, method: str, **body: Any) -> dict[str, Any]:
        return self.ask(f"{COMPETITIONS}/{method}", competitionName=self.slug, **body)

    def upload(self, content: bytes, name: str = "submission.csv") -> str:
        started = self.compete("StartSubmissionUpload", fileName=name, contentLength=len(content))
        assert self.http.put(started["createUrl"], content=content).status_code == 200
        return str(started["token"])

    def create(self, token: str, tag: str = "a tag") -> httpx2.Response:
        body = {"competitionName": self.slug, "blobFileTokens": token, "submissionDescription": tag}
        return self.post(f"{COMPETITIONS}/CreateSubmission", **body)

    def submit(self, content: bytes, tag: str = "a tag") -> int:
        answer = self.create(self.upload(content), tag)
        assert answer.status_code == 200, answer.text
        return int(answer.json()["ref"])


@dataclass(frozen=True)
class Served:
    """A site that is served, its clock, and a client of it."""

    site: Site
    clock: HandClock
    client: Client

    def of(self, slug: str) -> Client:
        """A client for one of several competitions."""
        return replace(self.client, slug=slug)

    @property
    def competition(self) -> SimulatedCompetition:
        """The site's only competition, or its first."""
        return self.site.competitions[0]

    @property
    def sample(self) -> bytes:
        return (self.competition.snapshot.data / "sample_submission.csv").read_bytes()

    def settle(self) -> None:
        """Let all submissions be graded, and the time pass that the site takes for it."""
        self.site.settle()
        self.clock.pass_by(minutes=10)


@contextmanager
def served(
    played: Snapshot | Sequence[Snapshot],
    settings: SiteSettings | None = None,
    faults: Faults | None = None,
    at: datetime = START,
    sandbox: Sandbox | None = None,
) -> Iterator[Served]:
    clock = HandClock(at)
    site = Site(played, clock, settings, faults, sandbox)
    verify = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # nothing is encrypted here, and reading certificates takes long
    with serving(site) as url, httpx2.Client(trust_env=False, verify=verify, timeout=10) as http:
        yield Served(site, clock, Client(url, http, slug=site.competitions[0].slug))


def tiny(folder: Path, **changes: Any) -> Snapshot:
    """Write the small snapshot with some fields of its manifest changed, and load it."""
    path = write_tiny(folder / "tiny")
    manifest = path / "snapshot.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | changes))
    return Snapshot.load(path, METRIC_DIRECTIONS)


def write_twin(folder: Path) -> Path:
    """Write a second small competition, three years later: the ids and the files of the first one, the opposite answers."""
    path = write_tiny(folder / "twin")
    for file in (*(path / "community").glob("*.jsonl"), path / "snapshot.json"):
        text = file.read_text().replace("2021-", "2024-").replace("2020-", "2023-")
        text = text.replace('"edited_at": null', '"edited_at": "2023-01-09T12:00:00Z"')
        file.write_text(text.replace(SLUG, TWIN).replace("Tiny table", "Twin table"))
    manifest = path / "snapshot.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"max_daily_submissions": 2}))
    header, *rows = (path / "private" / "answers.csv").read_text().splitlines()
    turned = [f"{row[:-1]}{1 - int(row[-1])}" for row in rows]
    (path / "private" / "answers.csv").write_text("\n".join([header, *turned, ""]))
    board = (
        "0.3,2023-01-20T10:00:00Z",
        "0.35,2023-02-01T00:00:00Z",
        "0.4,2023-01-05T00:00:00Z",
        "0.5,2023-02-28T00:00:00Z",
    )
    (path / "leaderboard.csv").write_text("\n".join(["score,submitted_at", *board, ""]))
    return path


def both(folder: Path) -> list[Snapshot]:
    """Return both small competitions as they are played together."""
    paths = [write_tiny(folder / "tiny"), write_twin(folder)]
    return align_starts([Snapshot.load(path, METRIC_DIRECTIONS) for path in paths])


def truth_with(snapshot: Snapshot, wrong: float) -> bytes:
    """Return a submission that is sure of the true label, but for that share of the rows."""
    lines = snapshot.answers.read_text().splitlines()
    rows = [line.split(",") for line in lines[1:]]
    cut = round(len(rows) * wrong)
    predictions = [
        (row, 0.5 if place < cut else 0.9 if label == "1" else 0.1) for place, (row, label) in enumerate(rows)
    ]
    return "\n".join(["id,label", *(f"{row},{chance}" for row, chance in predictions)]).encode() + b"\n"
