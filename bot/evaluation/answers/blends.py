"""Blends, candidates for the final selection, and code that blends without the bot: light types for the bot's process."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.evaluation.answers import LabelledView, NodeScore
from bot.evaluation.metrics.registry import METRICS, Space, line_space, prediction_bounds, prediction_kind, sums_to_one
from scrapers.snapshots.card import TaskCard


@dataclass(frozen=True)
class Predictions:
    """What was predicted for the withheld rows of one view."""

    view: LabelledView
    parts: tuple[str, ...]
    """Names of the parts to compare on: of the hold-out view, the hold-out and the internal test; else, all its rows."""
    files: Mapping[int, Path]
    """By node; files of a bank, or as scripts write them."""


@dataclass(frozen=True)
class SelectionCandidate:
    """A script, an experiment or an ensemble that may be submitted."""

    node: int
    seconds: float
    """That its hold-out run took; an ensemble's: those of its members together."""
    ensemble: bool = False
    fitted_on_others: bool = False
    """Whether it was fitted on others' predictions out of fold, so that it is compared on fewer rows by design."""
    on_all_rows: bool = False
    """Whether what would be submitted is made on all rows, which its predictions here are not."""


@dataclass(frozen=True)
class CandidateEvidence:
    """What is known of one candidate."""

    scores: Mapping[str, tuple[float, int]]
    """By part: the score, in the metric's own sign, and the number of rows."""
    mean: float
    """The mean of these scores, weighted by rows."""
    gain: float
    """How much better it is than the best script, on the rows that both were scored on: above 0 is better."""
    error: float | None
    """Standard error of `gain`, paired by row; None: unknown."""
    worth: float
    """What the choice goes by: the gain, less one standard error for a script or experiment of fewer rows than the best."""


@dataclass(frozen=True)
class CandidateRanking:
    """Candidates in order."""

    order: tuple[int, ...]
    """Nodes, the one to choose first; empty: nothing could be scored."""
    evidence: Mapping[int, CandidateEvidence]


@dataclass(frozen=True)
class Member:
    """A scored script, and what it predicted in its hold-out run: files of a bank, or as scripts write them."""

    node: int
    predictions: Path
    """Of the rows that weights are fitted on: the withheld ones, those of `final` among them, or training rows out of fold."""
    submission: Path
    """Of the test rows."""
    seconds: float
    """That its hold-out run took."""
    validation: Path | None = None
    """Of the withheld rows, where weights are fitted out of fold."""


@dataclass(frozen=True)
class BlendRecipe:
    """How a blend is made from the predictions of its members, on whatever rows these are."""

    space: Space
    weights: Mapping[int, float]
    """By node; all above 0, with the sum 1, but for a regression's: these are what they are, also below 0."""
    calibration: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """What is done to the combined predictions in turn; empty: nothing. `scale` and `offset`, a number for all columns or one
    for each, of their logits (logarithms where a row's sum to 1), of log(1 + prediction), or of the predictions themselves, as
    the metric takes them; `clip`: probabilities are kept so far from 0 and 1. Of the space `ordinal` always `levels`, the labels
    in order, and `thresholds` between them."""
    columns: Mapping[int, Sequence[float]] = field(default_factory=dict)
    """By node, its weight in each column, where columns have weights of their own, whose mean `weights` has; else empty."""
    ties: Mapping[int, Sequence[float]] = field(default_factory=dict)
    """By column whose predictions are tied as often as labels are: the shares of rows below each level but the first."""
    classes: Sequence[str] = ()
    """Of the space `classes`: the labels, in the order of the members' probabilities."""


@dataclass(frozen=True)
class FittedBlend:
    """A blend that was fitted on the hold-out rows."""

    recipe: BlendRecipe
    """Fitted on all hold-out rows."""
    score: NodeScore
    """On the rows that it was fitted on, cross-fitted: no row's prediction comes from weights that were fitted on its label. The
    gain is over the best member. Predictions are cross-fitted on those rows, and by the recipe on others."""
    rejected: Mapping[int, str] = field(default_factory=dict)
    """Nodes that could be no members, each with the reason in a sentence."""


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
    bounds = prediction_bounds(card)
    facts: dict[str, Any] = {
        "keys": list(card.row_columns),
        "columns": list(card.prediction_columns),
        "numbers": prediction_kind(card) == "number",
        "sums_to_one": sums_to_one(card),
        "line_space": line_space(card),
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
