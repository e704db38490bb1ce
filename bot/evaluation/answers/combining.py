"""Combining without the bot: the text of functions that do what the run's own blend does, and the facts that they take."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bot.evaluation.answers.blends import BlendRecipe
from bot.evaluation.metrics.registry import METRICS, prediction_bounds, prediction_kind
from scrapers.snapshots.card import TaskCard

COMBINED = frozenset(("mean", "logit", "log", "rank", "vote", "ordinal"))
"""Spaces of blends that the text knows."""
_TEXT = Path(__file__).with_name("combine.py.txt")


def combine_text() -> str:
    """Return the functions `read`, `ordered`, `combined` and `write`, which need numpy alone."""
    return _TEXT.read_text(encoding="utf-8").rstrip("\n")


def uncombined(card: TaskCard) -> str | None:
    """Return the spaces in which only the bot combines what a task's scripts predict, in words; None: there are none."""
    metric = METRICS.get(card.metric.name)
    return " or ".join(sorted({*(() if metric is None else metric.spaces)} - COMBINED)) or None


def combining_facts(card: TaskCard, recipe: BlendRecipe | None, names: Mapping[int, str]) -> Mapping[str, Any]:
    """Return what the functions of `combine_text` take as `facts`, written as JSON; `recipe` is None for one script."""
    metric, bounds = METRICS.get(card.metric.name), prediction_bounds(card)
    line = metric is not None and metric.spaces[0] in ("mean", "log")
    facts: dict[str, Any] = {
        "keys": list(card.row_columns),
        "columns": list(card.prediction_columns),
        "numbers": prediction_kind(card) == "number",
        "sums_to_one": metric is not None and bounds is metric.rescaled,
        "line_space": ("logit" if "logit" in metric.spaces else metric.spaces[0]) if metric and line else None,
        "bounds": [bound if math.isfinite(bound) else None for bound in (bounds.low, bounds.high)],
        "space": None,
        "weights": dict.fromkeys(names.values(), 1.0),
    }
    if recipe is None:
        return facts
    # Equal weights in the order in which the run's own blend takes them, as ties are the first one's.
    heaviest = sorted(recipe.weights, key=lambda node: (-recipe.weights[node], node))
    return facts | {
        "space": recipe.space,
        "weights": {names[node]: recipe.weights[node] for node in heaviest},
        "calibration": {step: list(values) for step, values in recipe.calibration.items()},
        "by_column": {names[node]: list(weights) for node, weights in recipe.columns.items()},
    }
