"""A blend of several scripts' predictions: light types, which the bot's own process can import."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bot.evaluation.answers import NodeScore
from bot.evaluation.metrics.registry import Space


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
