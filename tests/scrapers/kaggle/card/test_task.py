"""Tests of a running competition as a source of its task, against the stand-in site."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.simulator.site.settings import SiteSettings
from scrapers.kaggle.card.derive import derive
from scrapers.kaggle.card.overrides import CardOverrides
from scrapers.kaggle.card.task import read_evidence, with_data
from scrapers.kaggle.client import KaggleClient
from scrapers.kaggle.competitions import Competitions
from scrapers.kaggle.credentials import Credentials
from scrapers.kaggle.data import CompetitionData
from scrapers.kaggle.pacing import Tally
from scrapers.kaggle.settings import KaggleSection, Pace
from scrapers.snapshots.card import TaskCard
from state.errors import NotEntered
from tests.bot.simulator.site.parts import Served, served, tiny

PACE = Pace(per_minute=1e6, burst=10_000, per_day=1_000_000, apart=0.0)
DEFAULTS = {"eps": 1e-15, "normalize": True}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Served]:
    with served(tiny(tmp_path)) as found:
        yield found


@asynccontextmanager
async def reading(site: Served, folder: Path) -> AsyncIterator[tuple[Competitions, CompetitionData]]:
    """Yield what reads the site's competition and its data."""
    slug, key = site.competition.card.slug, Credentials(site.site.settings.token)
    async with httpx2.AsyncClient(verify=False, timeout=10) as http:
        section = KaggleSection(url=f"{site.client.url}/v1", pace=PACE)
        client = KaggleClient(http, lambda: key, site.clock, Tally(), section)
        yield Competitions(client), CompetitionData(client, slug, folder, None)


def same(card: TaskCard, of: TaskCard) -> None:
    """Check that a card says what the snapshot's does."""
    for name in ("slug", "title", "id_column", "prediction_columns", "enabled_at", "deadline", "max_daily_submissions"):
        assert getattr(card, name) == getattr(of, name), name
    assert (card.metric.name, card.metric.direction) == (of.metric.name, of.metric.direction)
    if card.metric.name == "log_loss":
        assert DEFAULTS | card.metric.params == DEFAULTS | of.metric.params


@pytest.mark.integration
async def test_the_card_and_the_files_are_those_that_are_played_back(site: Served, tmp_path: Path) -> None:
    slug, metric = site.competition.card.slug, site.competition.card.metric
    async with reading(site, tmp_path / "live") as (competitions, data):
        without = await read_evidence(competitions, slug)
        assert {page.name for page in without.pages} >= {"description", "evaluation", "rules"}
        assert not (tmp_path / "live").exists()
        folder = await data.fetch()
        evidence = await with_data(without, folder)
    assert derive(evidence, METRIC_DIRECTIONS).card is None
    card = derive(evidence, METRIC_DIRECTIONS, CardOverrides(metric=metric.name)).card
    assert card is not None
    same(card, site.competition.card)
    played = site.competition.snapshot.data
    names = [path.relative_to(played) for path in played.rglob("*") if path.is_file()]
    assert names
    assert all((folder / name).read_bytes() == (played / name).read_bytes() for name in names)


async def test_who_has_not_entered_is_told_so(tmp_path: Path) -> None:
    with served(tiny(tmp_path), SiteSettings(entered=False)) as site:
        async with reading(site, tmp_path / "live") as (_, data):
            with pytest.raises(NotEntered, match="accept its rules on the website"):
                await data.fetch()
