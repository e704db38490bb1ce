"""Settings of the tree searches."""

from dataclasses import replace

from pydantic import Field

from bot.agents.tree.policy import TreeSearch
from state.closed import ClosedModel


class TreeSearchSettings(ClosedModel):
    """What replaces an agent's own parameters; a key that is left out keeps them."""

    num_drafts: int | None = Field(
        default=None, ge=1, description="drafts before anything else; buggy ones count", examples=[5]
    )
    debug_prob: float | None = Field(
        default=None, ge=0, le=1, description="chance to repair a buggy leaf where there is one", examples=[0.5]
    )
    max_debug_depth: int | None = Field(
        default=None, ge=0, description="repairs in a row after which a buggy leaf is given up", examples=[3]
    )
    greedy_prob: float | None = Field(
        default=None, ge=0, le=1, description="chance to improve the best node, not another valid one", examples=[1.0]
    )
    trick_prob: float | None = Field(
        default=None, ge=0, le=1, description="chance that an improvement by automind is shown tricks", examples=[0.8]
    )

    def over(self, preset: TreeSearch) -> TreeSearch:
        """Return the preset with what is set here in its place."""
        return replace(preset, **self.model_dump(exclude_none=True))


class AdaptiveSettings(ClosedModel):
    """When a script is written in substeps."""

    threshold: int = Field(
        default=3,
        ge=1,
        le=5,
        description="a plan of a higher complexity (1 to 5) is carried out in substeps; 5: none is",
    )
    rewrites: int = Field(
        default=3, ge=0, description="times that one substep is rewritten after an error before the plan is given up"
    )
