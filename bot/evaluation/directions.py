"""Which way each known metric points; importable without numpy."""

from collections.abc import Mapping

from scrapers.card import Direction

METRIC_DIRECTIONS: Mapping[str, Direction] = {
    "log_loss": "minimize",
    "rmse": "minimize",
    "rmsle": "minimize",
    "mean_columnwise_rmsle": "minimize",
    "mae": "minimize",
    "roc_auc": "maximize",
    "accuracy": "maximize",
}

CLASSIFICATION_METRICS = frozenset({"log_loss", "roc_auc", "accuracy"})
"""Metrics whose targets are classes; the others take quantities."""

LABEL_METRICS = frozenset({"accuracy"})
"""Metrics whose predictions are labels (text or numbers) rather than numbers."""
