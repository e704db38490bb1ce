"""Caps on spending: those of a run, and those of all runs on a competition and of a day, `[budget]` of bot.toml."""

from typing import Annotated

from pydantic import Field

from bot.budgets.kinds import Kind
from state.closed_model import ClosedModel, Option


class Caps(ClosedModel):
    """Caps of one level; a kind without one is counted and not bounded."""

    money: Annotated[float | None, Option("max-cost")] = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        description="maximum cost in USD; models without a known price are refused",
        examples=[5.0],
    )
    tokens: Annotated[int | None, Option("max-tokens")] = Field(
        default=None,
        ge=0,
        description="maximum number of new tokens (received, or sent but not cached)",
        examples=[3_000_000],
    )
    calls: int | None = Field(
        default=None, ge=0, description="maximum number of model calls, including failed ones", examples=[500]
    )
    gpu_seconds: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        description="maximum GPU seconds for scripts and labs (GPUs times seconds)",
        examples=[36_000.0],
    )
    wall_seconds: float | None = Field(
        default=None, ge=0, allow_inf_nan=False, description="maximum wall time, in seconds", examples=[18_000.0]
    )
    executions: int | None = Field(default=None, ge=0, description="maximum number of script runs", examples=[200])
    disk_bytes: int | None = Field(
        default=None,
        ge=0,
        description="maximum number of bytes that scripts may leave in run folders",
        examples=[5_000_000_000],
    )
    submissions: int | None = Field(default=None, ge=0, description="maximum number of submissions", examples=[5])

    def cap_of(self, kind: Kind) -> float | None:
        """Return the cap of a kind, None where there is none."""
        cap: float | None = getattr(self, kind.value)
        return cap


class BudgetSettings(ClosedModel):
    """Caps on all runs together; of these and a run's own the tightest one holds."""

    competition: Caps = Field(default=Caps(), description="caps on all runs for one competition in one `--out` folder")
    day: Caps = Field(default=Caps(), description="caps on all runs in one `--out` folder on one day (UTC)")

    def money(self, run: Caps) -> float | None:
        """Return the tightest cap on money (USD) that holds for a run, None where there is none."""
        caps = (level.money for level in (run, self.competition, self.day))
        return min((cap for cap in caps if cap is not None), default=None)
