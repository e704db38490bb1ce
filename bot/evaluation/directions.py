"""Which way each known metric points, and what it takes as predictions; importable without numpy."""

from collections.abc import Mapping
from typing import Literal, get_args

from scrapers.card import Direction, TaskCard
from state.errors import UsageError

PredictionKind = Literal["number", "label", "text"]
"""`number`: finite; `label`: text that is never empty, where a number may be spelled in several ways (`1`, `1.0`); `text`: any
text, an empty one too (a run-length mask of nothing)."""

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

TEXT_METRICS: frozenset[str] = frozenset()
"""Metrics whose predictions are text of any kind: sentences, lists of labels, run lengths."""


def prediction_kind(card: TaskCard) -> PredictionKind:
    """Return what a task's predictions are; where its metric is its own grader's, as `params["predictions"]` says (`number`).

    Raises:
        UsageError: `params["predictions"]` is none of the kinds.
    """
    if card.metric.name in LABEL_METRICS:
        return "label"
    if card.metric.name in TEXT_METRICS:
        return "text"
    if card.metric.name in METRIC_DIRECTIONS:
        return "number"
    said = card.metric.params.get("predictions", "number")
    kinds: tuple[PredictionKind, ...] = get_args(PredictionKind)
    for kind in kinds:
        if said == kind:
            return kind
    raise UsageError(f"metric.params.predictions is {said!r}; it is one of {', '.join(kinds)}.")
