"""A served stand-in site of the tiny competition, and submitters that reach it as they would reach Kaggle."""

import csv
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import httpx2

from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.simulator.site.faults import Faults
from bot.simulator.site.serving import serving
from bot.simulator.site.settings import SiteSettings
from bot.simulator.site.site import Site
from bot.submission.kaggle import KaggleSubmitter
from scrapers.kaggle.client import KaggleClient
from scrapers.kaggle.credentials import Credentials
from scrapers.kaggle.pacing import Tally
from scrapers.kaggle.settings import KaggleSection, Pace, Timeouts
from scrapers.snapshots.snapshot import Snapshot
from state.clock import FastClock
from tests.tiny_snapshot import SLUG, write_tiny

DAY = 86_400.0
AT_ONCE = Pace(per_minute=1e6, burst=1000, per_day=1_000_000, min_interval=0.0)


@dataclass(frozen=True)
class Played:
    """A site that is served."""

    site: Site
    url: str
    clock: FastClock

    @asynccontextmanager
    async def submitter(self, *, token: str | None = None, silence: float = 5.0) -> AsyncIterator[KaggleSubmitter]:
        """Yield a submitter over HTTP."""
        key = Credentials(token or self.site.settings.token)
        timeouts = Timeouts(read=silence, total=4 * silence, backoff=1.0)
        section = KaggleSection(url=f"{self.url}/v1", pace=AT_ONCE, timeouts=timeouts)
        # Without certificates, which take a while to load, and are of no use on loopback.
        async with httpx2.AsyncClient(verify=False, timeout=silence) as http:
            client = KaggleClient(http, lambda: key, self.clock, Tally(), section)
            yield KaggleSubmitter(client, SLUG, "submission.csv")


@contextmanager
def played(
    folder: Path,
    *,
    speed: float = DAY / 4,
    settings: SiteSettings | None = None,
    days: float = 1.0,
    faults: Faults | None = None,
    kind: str = "csv",
) -> Iterator[Played]:
    """Serve the tiny competition, so many days after it began."""
    root = write_tiny(folder / "tiny")
    manifest = json.loads((root / "snapshot.json").read_text())
    (root / "snapshot.json").write_text(json.dumps(manifest | {"kind": kind}))
    snapshot = Snapshot.load(root, METRIC_DIRECTIONS)
    clock = FastClock(snapshot.card.enabled_at + timedelta(days=days), speed, time.time())
    site = Site(snapshot, clock, settings, faults)
    with serving(site) as url:
        yield Played(site, url, clock)


def predictions(folder: Path, chance: float = 0.5, *, rows: int = 60) -> Path:
    """Write a valid submission, or one with rows missing."""
    sample = (folder / "tiny" / "data" / "sample_submission.csv").read_text().splitlines()[1 : rows + 1]
    path = folder / f"predicted-{chance}-{rows}.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["id", "label"], *([line.split(",")[0], f"{chance}"] for line in sample)])
    return path
