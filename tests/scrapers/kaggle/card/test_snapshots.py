"""Tests of the derived card on real competitions' sample submissions and leaderboards."""

import csv
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from scrapers.kaggle.card.derive import derive
from scrapers.kaggle.card.evidence import Evidence, Tables
from scrapers.kaggle.card.overrides import CardOverrides
from scrapers.kaggle.card.task import read_tables
from scrapers.kaggle.competitions import KaggleCompetition
from scrapers.snapshots.fields import parse_time
from tests import needs

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
