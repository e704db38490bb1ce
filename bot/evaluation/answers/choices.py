"""Candidates for handing in, compared on the rows that they were scored on: light types for the bot's own process."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bot.evaluation.answers import LabelledView
from bot.evaluation.answers.blends import Recipe


@dataclass(frozen=True)
class Predictions:
    """What was predicted for the withheld rows of one view."""

    view: LabelledView
    parts: tuple[str, ...]
    """The parts to compare on: `holdout` and `final` of the hold-out view, or the fold's name."""
    files: Mapping[int, Path]
    """By node; files of a bank, or as scripts write them."""


@dataclass(frozen=True)
class Candidate:
    """A script or a blend that may be handed in."""

    node: int
    seconds: float
    """That its hold-out run took; a blend's: those of its members together."""
    recipe: Recipe | None = None
    """Of a blend: how it is made where only its members were run; None: it is a script."""


@dataclass(frozen=True)
class Evidence:
    """What is known of one candidate."""

    scores: Mapping[str, tuple[float, int]]
    """By part: the score, in the metric's own sign, and the number of rows."""
    together: float
    """The mean of these scores, weighted by rows."""
    gain: float
    """How much better it is than the best script, on the rows that both were scored on: above 0 is better."""
    error: float | None
    """Standard error of `gain`, paired by row; None: unknown."""
    worth: float
    """What the choice goes by: the gain, less one standard error for a script of fewer rows."""


@dataclass(frozen=True)
class Choice:
    """Candidates in order."""

    order: tuple[int, ...]
    """Nodes, the one to choose first; empty: nothing could be scored."""
    evidence: Mapping[int, Evidence]
    copies: Mapping[int, int] = field(default_factory=dict)
    """Candidates that can hardly be told from one that is before them in the order."""
