"""Tests of the derived card on real competitions' own words: their descriptions, sample submissions and leaderboards."""

import csv
import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.rehearsal.competition_pages import make_pages
from bot.rehearsal.rendering import rendered
from bot.rehearsal.settings import SiteSettings
from scrapers.kaggle.card.derive import derive
from scrapers.kaggle.card.evidence import Evidence, Tables
from scrapers.kaggle.card.tables import read_tables
from scrapers.kaggle.competitions import Competition, Page
from scrapers.snapshots.fields import parse_time
from scrapers.snapshots.manifest import Manifest
from tests import needs
from tests.scrapers.kaggle.card.cases import as_markdown

FIELDS = {
    "log_loss": ("MulticlassLoss", "Multi Class Log Loss", "LogLoss"),
    "mean_columnwise_rmsle": ("MCRMSLE", "Mean Columnwise Root Mean Squared Logarithmic Error"),
    "roc_auc": ("AUC", "Area Under Receiver Operating Characteristic Curve"),
    "rmsle": ("RMSLE", "Root Mean Squared Logarithmic Error"),
}
"""Kaggle's own names of these metrics."""
DEFAULTS = {"eps": 1e-15, "normalize": True}
SLUGS = (
    "aerial-cactus-identification",
    "bike-sharing-demand",
    "leaf-classification",
    "nomad2018-predict-transparent-conductors",
    "spooky-author-identification",
)


@pytest.mark.parametrize("slug", SLUGS)
@pytest.mark.parametrize("html", [False, True], ids=["markdown", "html"])
@pytest.mark.parametrize("split", [False, True], ids=["one page", "pages"])
@pytest.mark.parametrize("shown", [True, False], ids=["with the field", "without it"])
def test_real_competitions_are_told_or_left_open(slug: str, html: bool, split: bool, shown: bool) -> None:
    root = needs.snapshots() / slug
    manifest = json.loads((root / "snapshot.json").read_text(encoding="utf-8"))
    text = (root / "description.md").read_text(encoding="utf-8")
    pages = _pages(root, manifest, text) if split else {"description": text}
    for field in FIELDS[manifest["metric"]["name"]] if shown else ("",):
        evidence = Evidence(slug, _fields(manifest, field), _as_pages(pages, html), _tables(root), _board(root))
        card = derive(evidence, METRIC_DIRECTIONS).card
        if card is None:
            assert not (shown or split), "what every source says is certain"
            continue
        assert (card.metric.name, card.metric.direction) == (
            manifest["metric"]["name"],
            manifest["metric"]["direction"],
        )
        assert DEFAULTS | card.metric.params == DEFAULTS | manifest["metric"]["params"]
        assert (card.id_column, list(card.prediction_columns)) == (
            manifest["id_column"],
            manifest["prediction_columns"],
        )


@pytest.mark.parametrize("slug", SLUGS)
def test_without_a_sample_a_real_competition_is_told_or_left_open(slug: str) -> None:
    root = needs.snapshots() / slug
    manifest = json.loads((root / "snapshot.json").read_text(encoding="utf-8"))
    text = (root / "description.md").read_text(encoding="utf-8")
    tables = replace(_tables(root), sample=None)
    field = FIELDS[manifest["metric"]["name"]][0]
    pages = _as_pages(_pages(root, manifest, text), False)
    card = derive(Evidence(slug, _fields(manifest, field), pages, tables, _board(root)), METRIC_DIRECTIONS).card
    if card is not None:
        assert card.metric.name == manifest["metric"]["name"]
        assert (card.id_column, list(card.prediction_columns)) == (
            manifest["id_column"],
            manifest["prediction_columns"],
        )


@lru_cache
def _tables(root: Path) -> Tables:
    return read_tables(root / "data")


def _fields(manifest: dict[str, Any], metric: str) -> Competition:
    return Competition(
        title=manifest["title"],
        evaluation_metric=metric,
        enabled_date=parse_time(manifest["enabled_at"]),
        deadline=parse_time(manifest["deadline"]),
        max_daily_submissions=manifest["max_daily_submissions"],
    )


def _pages(root: Path, manifest: dict[str, Any], text: str) -> dict[str, str]:
    """Take the description apart as Kaggle's pages are, without what is not in it."""
    card = Manifest.model_validate({k: v for k, v in manifest.items() if k != "sha256"}).card(text)
    made = make_pages(card, text, SiteSettings(), 5).content
    return {name: content for name, content in made.items() if content.strip() in text}


def _as_pages(pages: dict[str, str], html: bool) -> tuple[Page, ...]:
    if html:
        pages = {name: rendered(text) for name, text in pages.items()}
    kind = "text/html" if html else "text/markdown"
    return as_markdown([Page(name=name, content=text, mime_type=kind) for name, text in pages.items()])


def _board(root: Path) -> tuple[str, ...]:
    with (root / "leaderboard.csv").open(newline="", encoding="utf-8") as file:
        return tuple(row["score"] for row in csv.DictReader(file))
