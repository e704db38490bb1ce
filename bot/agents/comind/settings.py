"""Settings of comind's rounds of drafts by scripts."""

import math

from pydantic import Field

from state.closed_model import ClosedModel


class RoundsSettings(ClosedModel):
    """Settings of the rounds; the step limit is the paper's (arXiv 2506.20640 v1, section 4)."""

    drafts_per_round: int = Field(default=2, ge=2, description="number of drafts per round")
    steps_per_draft: int = Field(default=20, ge=1, description="maximum number of scripts for one draft")
    draft_share: float = Field(default=0.12, gt=0, le=1, description="default share of the run for each draft")
    patience: int = Field(
        default=2, ge=1, description="end a draft after this many consecutive scored scripts without a gain"
    )
    max_debug_depth: int = Field(default=3, ge=0, description="end a draft after this many consecutive failed repairs")

    def scripts(self, total: int) -> int:
        """Return how many of a run's scripts a draft has by default."""
        return min(self.steps_per_draft, max(1, math.ceil(self.draft_share * total)))
