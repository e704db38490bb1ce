"""What changed on the leaderboard: rank, medal, best score."""

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Literal

from bot.notify.events.base import Event
from state.store import iso

__all__ = ["Medal", "MedalChanged", "NewBest", "RankChanged"]

Medal = Literal["gold", "silver", "bronze"]


@dataclass(frozen=True)
class RankChanged(Event):
    """The team's rank on the public leaderboard is another one."""

    kind: ClassVar[str] = "standing.rank"
    template: ClassVar[str] = "rank_changed.j2"

    competition: str
    rank: int
    """From 1."""
    earlier: int
    teams: int
    score: float | None
    at: datetime
    """The standing's own time."""

    @property
    def key(self) -> str:
        """One a standing."""
        return f"rank/{self.competition}/{iso(self.at)}"


@dataclass(frozen=True)
class MedalChanged(Event):
    """The rank is worth another medal than before; None: none."""

    kind: ClassVar[str] = "standing.medal"
    template: ClassVar[str] = "medal_changed.j2"

    competition: str
    medal: Medal | None
    earlier: Medal | None
    rank: int
    teams: int
    at: datetime
    """The standing's own time."""

    @property
    def key(self) -> str:
        """One a standing."""
        return f"medal/{self.competition}/{iso(self.at)}"


@dataclass(frozen=True)
class NewBest(Event):
    """A node is better, by its validation score, than all before it."""

    kind: ClassVar[str] = "standing.best"
    template: ClassVar[str] = "new_best.j2"

    competition: str
    run: str
    node: int
    score: float
    earlier: float | None
    """None: it is the first one."""
    title: str
    """What the node does, in a line."""

    @property
    def key(self) -> str:
        """One a node."""
        return f"best/{self.run}/{self.node}"
