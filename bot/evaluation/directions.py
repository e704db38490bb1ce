"""What is known of each metric without computing it: which way it points, what it takes, which scores it can give; no numpy."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from scrapers.snapshots.card import Direction, TaskCard
from state.errors import UsageError

PredictionKind = Literal["number", "label", "text"]
"""`number`: finite; `label`: text that is never empty, where a number may be spelled in several ways (`1`, `1.0`); `text`: any
text, an empty one too (a run-length mask of nothing)."""


@dataclass(frozen=True)
class MetricFacts:
    """What is known of a metric."""

    direction: Direction
    takes: PredictionKind = "number"
    of_classes: bool = False
    """Whether its targets are classes; else they are quantities, or texts."""
    least: float = -math.inf
    """No score is smaller."""
    most: float = math.inf
    """No score is larger."""
    of_varied: bool = False
    """Whether a truth that is constant may leave it undefined, if only for predictions that are right."""
    scores_constants: bool = True
    """Whether predictions that are all alike have a score, where the truth varies."""


_ERROR = MetricFacts("minimize", least=0.0)
_LOSS = MetricFacts("minimize", of_classes=True, least=0.0)
_CHANCE = MetricFacts("maximize", of_classes=True, least=0.0, most=1.0, of_varied=True)
_LABEL = MetricFacts("maximize", "label", of_classes=True, least=0.0, most=1.0)
_BINARY = replace(_LABEL, of_varied=True)
_AGREEMENT = MetricFacts("maximize", "label", of_classes=True, least=-1.0, most=1.0, of_varied=True)
_GINI = MetricFacts("maximize", least=-1.0, most=1.0, of_varied=True)
_CORRELATION = replace(_GINI, scores_constants=False)
_TEXT = MetricFacts("maximize", "text", least=0.0, most=1.0)
_DISTANCE = MetricFacts("minimize", "text", least=0.0)

METRIC_FACTS: Mapping[str, MetricFacts] = {
    "log_loss": _LOSS,
    "mean_columnwise_log_loss": _LOSS,
    "weighted_log_loss": _LOSS,
    "kl_divergence": _ERROR,
    "roc_auc": _CHANCE,
    "weighted_auc": _CHANCE,
    "average_precision": _CHANCE,
    "lwlrap": _CHANCE,
    "probabilistic_f1": _CHANCE,
    "rmse": _ERROR,
    "mse": _ERROR,
    "rmsle": _ERROR,
    "msle": _ERROR,
    "mean_columnwise_rmse": _ERROR,
    "mean_columnwise_rmsle": _ERROR,
    "mae": _ERROR,
    "median_absolute_error": _ERROR,
    "mape": _ERROR,
    "smape": _ERROR,
    "rmspe": _ERROR,
    "pinball_loss": _ERROR,
    "r2": MetricFacts("maximize", most=1.0, of_varied=True),
    "pearson": _CORRELATION,
    "spearman": _CORRELATION,
    "gini": _GINI,
    "laplace_log_likelihood": MetricFacts("maximize"),
    "mean_angular_error": MetricFacts("minimize", least=0.0, most=math.pi),
    "accuracy": _LABEL,
    "error_rate": MetricFacts("minimize", "label", of_classes=True, least=0.0, most=1.0),
    "balanced_accuracy": _LABEL,
    "cohen_kappa": _AGREEMENT,
    "quadratic_weighted_kappa": _AGREEMENT,
    "mcc": _AGREEMENT,
    "macro_f1": _LABEL,
    "micro_f1": _LABEL,
    "weighted_f1": _LABEL,
    "binary_f1": _BINARY,
    "binary_f_beta": _BINARY,
    "multilabel_micro_f1": _TEXT,
    "multilabel_macro_f1": _TEXT,
    "multilabel_samples_f1": _TEXT,
    "map_at_k": _TEXT,
    "top_k_error": MetricFacts("minimize", "text", of_classes=True, least=0.0, most=1.0),
    "word_jaccard": _TEXT,
    "levenshtein": _DISTANCE,
    "levenshtein_ratio": _DISTANCE,
    "kendall_tau": MetricFacts("maximize", "text", least=-1.0, most=1.0),
    "dice": _TEXT,
    "global_dice": _TEXT,
    "mask_map_iou": _TEXT,
    "points_in_boxes_f1": _TEXT,
}

METRIC_DIRECTIONS: Mapping[str, Direction] = {name: facts.direction for name, facts in METRIC_FACTS.items()}

CLASSIFICATION_METRICS = frozenset(name for name, facts in METRIC_FACTS.items() if facts.of_classes)
"""Metrics whose targets are classes; the others take quantities or texts."""

LABEL_METRICS = frozenset(name for name, facts in METRIC_FACTS.items() if facts.takes == "label")
"""Metrics whose predictions are labels (text or numbers) rather than numbers."""

TEXT_METRICS = frozenset(name for name, facts in METRIC_FACTS.items() if facts.takes == "text")
"""Metrics whose predictions are text of any kind: sentences, lists of labels, run lengths."""


def needs_variation(card: TaskCard) -> bool:
    """Return whether a task's metric may be undefined where the truth of a column is constant; an unknown one may."""
    facts = METRIC_FACTS.get(card.metric.name)
    return facts is None or facts.of_varied


def prediction_kind(card: TaskCard) -> PredictionKind:
    """Return what a task's predictions are; where its metric is its own grader's, as `params["predictions"]` says (`number`).

    Raises:
        UsageError: `params["predictions"]` is none of the kinds.
    """
    if card.metric.name in METRIC_FACTS:
        return METRIC_FACTS[card.metric.name].takes
    said = card.metric.params.get("predictions", "number")
    kinds: tuple[PredictionKind, ...] = get_args(PredictionKind)
    for kind in kinds:
        if said == kind:
            return kind
    raise UsageError(f"metric.params.predictions is {said!r}; it is one of {', '.join(kinds)}.")
