"""The tables `[session]` and `[watch]` of bot.toml."""

from pydantic import BaseModel, ConfigDict, Field

from bot.coder import CoderBudget
from sandbox.rules import RuleSettings

__all__ = ["SessionSettings", "WatchSettings"]


class SessionSettings(BaseModel):
    """How much a coder may try out before each script."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cells: int = Field(default=8, ge=1, description="cells before each script")
    cell_seconds: float = Field(default=120.0, gt=0, description="seconds of one cell")
    seconds: float = Field(default=600.0, gt=0, description="seconds of all cells before one script")
    share: float = Field(default=0.25, gt=0, le=1, description="the same, as a share of the script's own time limit")

    def seconds_for(self, budget: CoderBudget) -> float:
        """Return how many seconds the cells before one script may take."""
        return min(self.seconds, self.share * budget.execution_seconds)


class WatchSettings(RuleSettings):
    """The section `[watch]` of bot.toml: who looks on while a script runs."""

    inspect_interval: float = Field(
        default=300.0,
        ge=0,
        allow_inf_nan=False,
        description="seconds between two looks of the model; 0: it never looks",
    )
