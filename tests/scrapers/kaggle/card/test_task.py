"""Tests of a running competition as a source of its task, against the stand-in site."""

import csv
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import httpx2
import pytest

from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.simulator.site.settings import SiteSettings
from scrapers.kaggle.card.derive import derive
from scrapers.kaggle.card.evidence import Evidence, Tables
from scrapers.kaggle.card.overrides import CardOverrides
from scrapers.kaggle.card.task import read_evidence, read_tables, with_data
from scrapers.kaggle.client import KaggleClient
from scrapers.kaggle.competitions import Competitions, KaggleCompetition
from scrapers.kaggle.credentials import Credentials
from scrapers.kaggle.data import CompetitionData
from scrapers.kaggle.pacing import Tally
from scrapers.kaggle.settings import KaggleSection, Pace
from scrapers.snapshots.card import TaskCard
from scrapers.snapshots.fields import parse_time
from state.errors import NotEntered
from tests import needs
from tests.bot.simulator.site.parts import Served, served, tiny

FIELDS = {
    "log_loss": ("MulticlassLoss", "Multi Class Log Loss", "LogLoss"),
    "mean_columnwise_rmsle": ("MCRMSLE", "Mean Columnwise Root Mean Squared Logarithmic Error"),
    "roc_auc": ("AUC", "Area Under Receiver Operating Characteristic Curve"),
    "rmsle": ("RMSLE", "Root Mean Squared Logarithmic Error"),
}
"""Kaggle's own names of these metrics."""
SLUGS = (
    "aerial-cactus-identification",
    "bike-sharing-demand",
    "leaf-classification",
    "nomad2018-predict-transparent-conductors",
    "spooky-author-identification",
)


@pytest.mark.integration
@pytest.mark.parametrize("slug", SLUGS)
def test_real_competitions_columns_are_settled_and_their_field_names_the_metric(slug: str) -> None:
    root = needs.snapshots() / slug
    manifest = json.loads((root / "snapshot.json").read_text(encoding="utf-8"))
    for field in FIELDS[manifest["metric"]["name"]]:
        evidence = Evidence(slug, _fields(manifest, field), (), _tables(root), _board(root))
        (missing,) = derive(evidence, METRIC_DIRECTIONS).missing
        assert missing.line == f'metric = "{manifest["metric"]["name"]}"'
        own = CardOverrides(metric=manifest["metric"]["name"])
        card = derive(evidence, METRIC_DIRECTIONS, own).card
        assert card.metric.direction == manifest["metric"]["direction"]
        assert (card.id_column, list(card.prediction_columns)) == (
            manifest["id_column"],
            manifest["prediction_columns"],
        )


@lru_cache
def _tables(root: Path) -> Tables:
    return read_tables(root / "data")


def _fields(manifest: dict[str, Any], metric: str) -> KaggleCompetition:
    return KaggleCompetition(
        title=manifest["title"],
        evaluation_metric=metric,
        enabled_date=parse_time(manifest["enabled_at"]),
        deadline=parse_time(manifest["deadline"]),
        max_daily_submissions=manifest["max_daily_submissions"],
    )


def _board(root: Path) -> tuple[str, ...]:
    with (root / "leaderboard.csv").open(newline="", encoding="utf-8") as file:
        return tuple(row["score"] for row in csv.DictReader(file))


PACE = Pace(per_minute=1e6, burst=10_000, per_day=1_000_000, min_interval=0.0)
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
