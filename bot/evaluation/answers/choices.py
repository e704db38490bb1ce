"""Candidates for handing in, compared on the rows that they were scored on: light types for the bot's own process."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.evaluation.answers import LabelledView


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
    """A script, an experiment or an ensemble that may be handed in."""

    node: int
    seconds: float
    """That its hold-out run took; an ensemble's: those of its members together."""
    ensemble: bool = False
    fitted_on_others: bool = False
    """Whether it was fitted on others' predictions out of fold, so that it is compared on fewer rows by design."""
    on_all_rows: bool = False
    """Whether what would be handed in is made on all rows, which its predictions here are not."""


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
