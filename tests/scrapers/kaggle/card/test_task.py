"""Tests of a running competition as a source of its task, against the stand-in site."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.rehearsal.settings import SiteSettings
from scrapers.kaggle.card.overrides import CardOverrides
from scrapers.kaggle.card.task import KaggleTask
from scrapers.kaggle.client import KaggleClient
from scrapers.kaggle.competitions import Competitions
from scrapers.kaggle.credentials import Credentials
from scrapers.kaggle.data import CompetitionData
from scrapers.kaggle.pacing import Tally
from scrapers.kaggle.settings import Pace, Patience
from scrapers.snapshots.card import TaskCard
from scrapers.snapshots.snapshot import Snapshot
from state.errors import NotEntered
from tests import needs
from tests.bot.rehearsal.parts import Served, served, tiny

PACE = Pace(per_minute=1e6, burst=10_000, per_day=1_000_000, apart=0.0)
DEFAULTS = {"eps": 1e-15, "normalize": True}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Served]:
    with served(tiny(tmp_path)) as found:
        yield found


@asynccontextmanager
async def task(site: Served, folder: Path, own: CardOverrides | None = None) -> AsyncIterator[KaggleTask]:
    """Yield the site's competition."""
    slug, key = site.competition.card.slug, Credentials(site.site.settings.token)
    async with httpx2.AsyncClient(verify=False, timeout=10) as http:
        url = f"{site.client.url}/v1"
        client = KaggleClient(http, lambda: key, site.clock, Tally(), url=url, pace=PACE, patience=Patience())
        data = CompetitionData(client, slug, folder, own.sample_submission if own else None)
        yield KaggleTask(Competitions(client), slug, data.fetch, METRIC_DIRECTIONS, own)


def same(card: TaskCard, of: TaskCard) -> None:
    """Check that a card says what the snapshot's does."""
    for name in ("slug", "title", "id_column", "prediction_columns", "enabled_at", "deadline", "max_daily_submissions"):
        assert getattr(card, name) == getattr(of, name), name
    assert (card.metric.name, card.metric.direction) == (of.metric.name, of.metric.direction)
    if card.metric.name == "log_loss":
        assert DEFAULTS | card.metric.params == DEFAULTS | of.metric.params


async def test_the_card_and_the_files_are_those_that_are_played_back(site: Served, tmp_path: Path) -> None:
    async with task(site, tmp_path / "live") as source:
        card = (await source.derived()).card
        assert card is not None
        same(card, site.competition.card)
        folder = await source.files()
    played = site.competition.snapshot.data
    names = [path.relative_to(played) for path in played.rglob("*") if path.is_file()]
    assert names
    assert all((folder / name).read_bytes() == (played / name).read_bytes() for name in names)


async def test_what_is_missing_is_told_with_the_lines_that_settle_it(tmp_path: Path) -> None:
    with served(tiny(tmp_path, enabled_at="2020-01-10T11:00:00Z"), SiteSettings(metric_shown=False)) as site:
        # On the first day the board is empty, and so the page's word stands alone.
        async with task(site, tmp_path / "live") as source:
            derived = await source.derived()
        assert derived.card is None
        (missing,) = derived.missing
        assert "below [competitions.tiny-table]: metric = " in str(missing)
        assert not (tmp_path / "live").exists(), "no data is fetched where it cannot help"
        async with task(site, tmp_path / "live", CardOverrides(metric="log_loss")) as source:
            card = (await source.derived()).card
        assert card is not None and card.metric.name == "log_loss"


async def test_who_has_not_entered_is_told_so(tmp_path: Path) -> None:
    with served(tiny(tmp_path), SiteSettings(entered=False)) as site:
        async with task(site, tmp_path / "live") as source:
            with pytest.raises(NotEntered, match="accept its rules on the website"):
                await source.files()


@pytest.mark.integration
@pytest.mark.parametrize(
    ("days", "pages", "shown"),
    [(0.01, "markdown", True), (0.01, "html", False), (20.0, "markdown", False), (20.0, "html", True)],
    ids=[
        "early markdown with the metric",
        "early html without it",
        "late markdown without it",
        "late html with the metric",
    ],
)
@pytest.mark.parametrize(
    "slug",
    [
        "aerial-cactus-identification",
        "bike-sharing-demand",
        "leaf-classification",
        "nomad2018-predict-transparent-conductors",
        "spooky-author-identification",
    ],
)
async def test_real_competitions_are_told_or_left_open(
    slug: str, days: float, pages: Any, shown: bool, tmp_path: Path
) -> None:
    snapshot = Snapshot.load(needs.snapshots() / slug, METRIC_DIRECTIONS)
    settings = SiteSettings(metric_shown=shown, page_format=pages)
    with served(snapshot, settings, at=snapshot.card.enabled_at + timedelta(days=days)) as site:
        async with task(site, tmp_path / "live") as source:
            derived = await source.derived()
            if derived.card is None:
                print(slug, [str(one) for one in derived.missing])
                assert not shown
                return
            same(derived.card, snapshot.card)
            folder = await source.files()
    names = [path.relative_to(snapshot.data) for path in snapshot.data.rglob("*") if path.is_file()]
    assert all((folder / name).read_bytes() == (snapshot.data / name).read_bytes() for name in names)
