"""What changed on the leaderboard: rank, medal, the top; and the best score."""

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from bot.evaluation.grading.leaderboard import Medal
from bot.notify.events.base import Event
from state.words import iso

__all__ = ["BoardMoved", "CompetitionOver", "Medal", "MedalChanged", "NewBest", "RankChanged"]


@dataclass(frozen=True)
class RankChanged(Event):
    """The team's rank on the leaderboard is another one."""

    kind: ClassVar[str] = "standing.rank"
    template: ClassVar[str] = "rank_changed.j2"

    competition: str
    rank: int
    """From 1."""
    earlier: int | None
    """None: it had none."""
    teams: int
    score: float | None
    at: datetime
    """The standing's own time."""
    passed: int = 0
    """Teams that have passed ours since the earlier rank."""
    passed_by: tuple[str, ...] = ()
    """The names of the first of them."""
    private: bool = False
    """Whether it is the private leaderboard, which is final."""

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
    private: bool = False
    """Whether it is the private leaderboard, which is final."""

    @property
    def key(self) -> str:
        """One a standing."""
        return f"medal/{self.competition}/{iso(self.at)}"


@dataclass(frozen=True)
class BoardMoved(Event):
    """The top of the other teams has become much better: somebody has found something."""

    kind: ClassVar[str] = "standing.board"
    template: ClassVar[str] = "board_moved.j2"

    competition: str
    first_before: float | None
    first: float | None
    """The best score of the others; `gold`: their last that is worth a gold medal."""
    gold_before: float | None
    gold: float | None
    score: float | None
    """Ours."""
    rank: int | None
    teams: int | None
    at: datetime
    """The leaderboard's own time."""

    @property
    def key(self) -> str:
        """One a leaderboard."""
        return f"board/{self.competition}/{iso(self.at)}"


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


@dataclass(frozen=True)
class CompetitionOver(Event):
    """A competition has ended, and what the run reached is written down."""

    kind: ClassVar[str] = "standing.over"
    template: ClassVar[str] = "competition_over.j2"

    competition: str
    run: str
    score: float | None
    """None: nothing was sent, or no score was told."""
    private: bool
    """Whether it is by the private leaderboard, which is final."""
    rank: int | None
    teams: int
    medal: Medal | None
    report: str
    """Where the page lies."""

    @property
    def key(self) -> str:
        """One a run and leaderboard."""
        return f"over/{self.run}/{'private' if self.private else 'public'}"
