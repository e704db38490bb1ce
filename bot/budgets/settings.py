"""The section `[budget]` of bot.toml: caps of a run, of all runs on a competition, and of a day."""

from typing import Self

from pydantic import Field

from bot.budgets.kinds import Kind
from state.closed import ClosedModel


class Caps(ClosedModel):
    """Caps of one level; a kind without one is counted and not bounded."""

    money: float | None = Field(default=None, ge=0, allow_inf_nan=False, description="money, in USD", examples=[5.0])
    tokens: int | None = Field(
        default=None, ge=0, description="new tokens: sent and not cached, or received", examples=[3_000_000]
    )
    calls: int | None = Field(default=None, ge=0, description="calls of a model, failed ones too", examples=[500])
    gpu_seconds: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        description="seconds times the GPUs that an execution holds",
        examples=[36_000.0],
    )
    wall_seconds: float | None = Field(
        default=None, ge=0, allow_inf_nan=False, description="seconds of running", examples=[18_000.0]
    )
    executions: int | None = Field(default=None, ge=0, description="scripts that are started", examples=[200])
    disk_bytes: int | None = Field(
        default=None, ge=0, description="bytes that executions leave in run folders", examples=[5_000_000_000]
    )
    submissions: int | None = Field(default=None, ge=0, description="files that are handed in", examples=[5])

    def of(self, kind: Kind) -> float | None:
        """Return the cap of a kind, None where there is none."""
        cap: float | None = getattr(self, kind.value)
        return cap


class BudgetSettings(ClosedModel):
    """Caps at three levels; the tightest one holds."""

    run: Caps = Field(default=Caps(), description="of one run, what it spent before a resume included")
    competition: Caps = Field(default=Caps(), description="of all runs on one competition in one `--out` folder")
    day: Caps = Field(default=Caps(), description="of all runs in one `--out` folder on one day (UTC)")

    def with_run(self, *, money: float | None, tokens: int | None) -> Self:
        """Return the same with other caps on a run's money (USD) and new tokens; None changes nothing."""
        given = {name: cap for name, cap in (("money", money), ("tokens", tokens)) if cap is not None}
        return self.model_copy(update={"run": self.run.model_copy(update=given)}) if given else self

    @property
    def money(self) -> float | None:
        """The tightest cap on money (USD) of any level, None where there is none."""
        return self.least(Kind.MONEY)

    def least(self, kind: Kind) -> float | None:
        """Return the tightest cap on a kind of any level, None where there is none."""
        caps = (level.of(kind) for level in (self.run, self.competition, self.day))
        return min((cap for cap in caps if cap is not None), default=None)
