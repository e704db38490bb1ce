"""How much of a budget is spent."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from bot.budgets.kinds import Kind, words
from bot.budgets.kinds import name as kind_name
from bot.notify.events.base import Event

__all__ = ["SHARES", "BudgetReached", "shares_reached"]

Share = Literal[50, 80, 100]
SHARES: tuple[Share, ...] = (50, 80, 100)
"""Percent of a cap of which the owner is told."""


@dataclass(frozen=True)
class BudgetReached(Event):
    """A share of a cap is spent."""

    kind: ClassVar[str] = "budget.reached"
    template: ClassVar[str] = "budget_reached.j2"

    level: str
    """Whose budget, such as a run's id, a competition's name or `day`."""
    period: str
    """Which of its periods, such as `2020-01-31`; empty where it has none."""
    what: Kind
    share: Share
    spent: float
    """In the kind's unit."""
    cap: float

    @property
    def key(self) -> str:
        """One a cap, period and share."""
        return f"budget/{self.level}/{self.period}/{self.what}/{self.cap:g}/{self.share}"

    def context(self) -> dict[str, object]:
        """Return the amounts in words."""
        return {
            "level": self.level,
            "period": self.period,
            "what": kind_name(self.what),
            "share": self.share,
            "spent": words(self.what, self.spent),
            "cap": words(self.what, self.cap),
        }


def shares_reached(spent: float, cap: float) -> tuple[Share, ...]:
    """Return the shares of a cap that are spent; all of them where nothing may be spent."""
    return tuple(share for share in SHARES if spent * 100 >= cap * share)
