"""Which numbers a metric takes as predictions, and why no others; importable without numpy."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from scrapers.snapshots.card import TaskCard


@dataclass(frozen=True)
class Bounds:
    """The values that a metric takes, and why no others."""

    low: float = -math.inf
    high: float = math.inf
    reason: str = ""


_LOGARITHMS = Bounds(low=0.0, reason="the metric takes logarithms of 1 + prediction and refuses negative ones")
_SHARES = Bounds(low=0.0, reason="probabilities cannot be negative")
_PROBABILITIES = Bounds(low=0.0, high=1.0, reason="probabilities lie between 0 and 1")

_BOUNDS: Mapping[str, Bounds] = {
    "rmsle": _LOGARITHMS,
    "msle": _LOGARITHMS,
    "mean_columnwise_rmsle": _LOGARITHMS,
    "log_loss": _PROBABILITIES,
    "mean_columnwise_log_loss": _PROBABILITIES,
    "weighted_log_loss": _PROBABILITIES,
    "kl_divergence": _PROBABILITIES,
}
_RESCALED = frozenset({"log_loss", "kl_divergence"})
"""Of several columns their rows are divided by their sums, so that they may be anything that is not negative."""


def value_bounds(card: TaskCard) -> Bounds:
    """Return which predictions the task's metric takes; what scikit-learn, and so MLE-bench, refuses is refused."""
    name = card.metric.name
    if name in _RESCALED and len(card.prediction_columns) > 1 and card.metric.params.get("normalize", True):
        return _SHARES
    return _BOUNDS.get(name, Bounds())
