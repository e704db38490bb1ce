"""The day in one message, with a small plot; and the message that tries a service out."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import ClassVar

from bot.notify import Plot
from bot.notify.events.base import Event
from state.words import iso

__all__ = ["CompetitionDay", "DailySummary", "Trial"]


@dataclass(frozen=True)
class CompetitionDay:
    """One competition's day."""

    competition: str
    rank: int | None
    teams: int | None
    best_score: float | None
    nodes: int
    """Made that day, as the following."""
    submissions: int
    spent_usd: float | None
    """None: of unknown price."""
    days_left: float | None
    """None: when it ends is not known."""
    scores: tuple[tuple[datetime, float], ...] = ()
    """The best validation score over time, oldest first."""


@dataclass(frozen=True)
class DailySummary(Event):
    """What a day brought, competition by competition."""

    kind: ClassVar[str] = "summary.daily"
    template: ClassVar[str] = "daily_summary.j2"

    day: date
    competitions: tuple[CompetitionDay, ...]
    troubles: tuple[str, ...] = ()
    """What needs a person still, a line each."""

    @property
    def key(self) -> str:
        """One a day."""
        return f"summary/{self.day.isoformat()}"

    def plots(self) -> tuple[Plot, ...]:
        """Return a line for each competition that has one."""
        return tuple(
            Plot(
                f"{one.competition}: best validation score",
                tuple(at for at, _ in one.scores),
                tuple(score for _, score in one.scores),
            )
            for one in self.competitions
            if len(one.scores) > 1
        )


@dataclass(frozen=True)
class Trial(Event):
    """A message that shows whether a service works."""

    kind: ClassVar[str] = "notify.trial"
    template: ClassVar[str] = "trial.j2"

    at: datetime

    @property
    def key(self) -> str:
        """One a time."""
        return f"trial/{iso(self.at)}"
