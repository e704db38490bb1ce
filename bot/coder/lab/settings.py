"""How much one lab may use."""

from pydantic import Field

from bot.engine.budget import LONGEST_UNDIVIDED
from state.closed_model import ClosedModel


class LabSettings(ClosedModel):
    """The table `[lab]` of bot.toml."""

    turns: int = Field(default=500, ge=1, description="maximum number of turns (model responses) in a lab")
    share: float = Field(
        default=0.12,
        gt=0,
        le=1,
        description="share of the run (or of a day, if shorter) that each lab gets; at least 25 minutes, or the whole "
        "run if it lasts two hours or less",
    )
    labs_per_day: int = Field(
        default=2, ge=1, description="maximum number of labs for a live competition per day (UTC)"
    )
    work_bytes: int = Field(default=8 * 1000**3, gt=0, description="maximum size of a lab's working folder, in bytes")
    context_characters: int = Field(
        default=240_000,
        ge=20_000,
        description="maximum length of a conversation in characters; beyond it, older turns are dropped",
    )

    def seconds(self, total: float, seconds_left: float, planned: float | None = None) -> float:
        """Return the time (seconds) of a lab that opens now: all that is left of a run of up to two hours, else its share.

        Args:
            total: seconds of the whole run.
            seconds_left: seconds that are left for labs.
            planned: seconds that it was given; None: as the settings have it.
        """
        if total <= LONGEST_UNDIVIDED:
            return seconds_left
        own_seconds = max(SHORTEST, self.share * min(total, DAY) if planned is None else planned)
        return seconds_left if seconds_left < own_seconds + SHORTEST / 2 else own_seconds


SHORTEST = 1500.0
"""Least seconds of a lab in a longer run."""
DAY = 86_400.0
"""A live run lasts for weeks, but a lab of days would keep all others waiting."""
