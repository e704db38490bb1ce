"""Settings of the tree searches."""

from dataclasses import replace

from pydantic import Field

from bot.agents.tree.policy import TreeSearch
from state.closed_model import ClosedModel


class TreeSearchSettings(ClosedModel):
    """Parameters that replace an agent's own; a missing key keeps them."""

    num_drafts: int | None = Field(
        default=None, ge=1, description="number of initial drafts, including failed ones", examples=[5]
    )
    debug_prob: float | None = Field(
        default=None, ge=0, le=1, description="probability of repairing a failed leaf, if there is one", examples=[0.5]
    )
    max_debug_depth: int | None = Field(
        default=None,
        ge=0,
        description="abandon a leaf after this many consecutive failed repairs",
        examples=[3],
    )
    greedy_prob: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="probability of improving the best node rather than a different valid one",
        examples=[1.0],
    )
    trick_prob: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="probability that automind is shown tricks when it improves a node",
        examples=[0.8],
    )

    def over(self, preset: TreeSearch) -> TreeSearch:
        """Return the preset with the parameters set here."""
        return replace(preset, **self.model_dump(exclude_none=True))


class AdaptiveSettings(ClosedModel):
    """When a script is written in substeps."""

    threshold: int = Field(
        default=3,
        ge=1,
        le=5,
        description="plan complexity (1 to 5) above which the script is written in substeps (5: never)",
    )
    rewrites: int = Field(
        default=3,
        ge=0,
        description="maximum number of rewrites of a failing substep before the plan is abandoned",
    )
