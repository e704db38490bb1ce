"""What prompts show of the pools: ideas with their evidence, and reports."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from bot.models import Item

_MAIN_PARTS = 4
"""Components of a report that a prompt shows."""


class JsonAnswer(BaseModel):
    """Base of the JSON answers: other fields are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


@dataclass(frozen=True)
class IdeaText:
    """An idea as a prompt shows it, with its evidence."""

    item: Item
    """`idea/<number>`."""
    number: int
    text: str
    support: float
    """0 to 10, as of `IdeaEvidence`."""
    times_used: int
    gains: tuple[float, ...] = ()
    """Measured of the idea itself, as of `IdeaEvidence`."""
    error: float | None = None
    """Standard error of the mean of the gains."""
    basis: str = "not judged"
    """Basis of the support, in words."""
    has_no_gain: bool = False
    """Whether it was measured, and gained nothing beyond noise."""
    feasibility: float = 5.0
    """0 to 10, as its sources were judged; 5 if none was."""
    path: str = ""
    """The solution path that it belongs to."""
    proposed: tuple[int, ...] = ()
    """The drafts that are being planned, from 1, for which it is selected."""


class ComponentNote(JsonAnswer):
    """One main component of a solution, and its effect."""

    name: str
    analysis: str
    idea: int | None = None
    """Number of the one idea that it carries out, and that its gain measures, if any."""
    ideas: tuple[int, ...] = ()
    """All ideas that it adds to its reference, as its files and note show."""
    gain: float | None = None
    """Gain of the score, above 0 is better, from a comparison that differs in this component alone."""
    gain_error: float | None = None
    """Standard error of the gain, where the engine has measured it."""


class ReportAnswer(JsonAnswer):
    """The report on a draft."""

    method: str = Field(min_length=1, max_length=6_000)
    components: tuple[ComponentNote, ...] = ()
    numbers: str = ""
    limitations: str = ""
    next_steps: str = ""


class ReportText(ReportAnswer):
    """A report as a prompt shows it."""

    item: Item
    """`report/<number>`."""
    number: int
    title: str
    score: float | None
    node: int | None = None
    """The draft's best."""
    baseline: bool = False
    """Whether it is the baseline's, which has no draft."""

    def main_parts(self) -> list[ComponentNote]:
        """Return the components that a short text names: those measured, the clearest differences first, then others."""
        measured_parts = [part for part in self.components if part.gain is not None]
        measured_parts.sort(key=lambda part: -abs(part.gain or 0.0) / (part.gain_error or math.inf))
        return [*measured_parts, *(part for part in self.components if part.gain is None)][:_MAIN_PARTS]


def item_time(items: Sequence[Item], fallback: datetime) -> datetime:
    """Return the latest time of the items, the fallback if there are none."""
    return max((item.time for item in items), default=fallback)
