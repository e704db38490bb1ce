"""How the node that is submitted was chosen: light models, which whatever reads results can import."""

from typing import Literal

from state.closed_model import ClosedModel


class CandidateComparison(ClosedModel):
    """One candidate of the last choice; scores are in the metric's own sign, None where it was not scored."""

    node: int
    kind: Literal["script", "experiment", "stack", "ensemble"]
    holdout: float | None
    out_of_fold: float | None
    final: float | None
    mean: float
    """The mean of these scores, weighted by rows."""
    gain: float
    """Paired difference to the best script of those with the most rows: above 0 is better."""
    gain_error: float | None


class Selection(ClosedModel):
    """How the node that was submitted was chosen."""

    candidates: tuple[CandidateComparison, ...]
    """In order; the first is chosen."""
    reason: str
    """Why the first is chosen."""
    eligible: tuple[int, ...] = ()
    """All nodes that could be chosen."""
