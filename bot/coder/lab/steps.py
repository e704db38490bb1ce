"""The steps of a lab, and what each stores."""

from dataclasses import dataclass, field
from typing import Any

from bot.models import Item, Message
from state.steps import Kind


@dataclass(frozen=True)
class OpenedLab:
    """The head of a lab's conversation, and its time."""

    head: tuple[Message, ...]
    known: tuple[Item, ...]
    """The dated things in it."""
    ends_at: float
    """Seconds of the run's time."""
    seconds: float
    news: dict[str, Any]
    """How far the news had come."""
    mark: str
    """What begins the engine's lines."""


@dataclass(frozen=True)
class BegunTurn:
    """A turn whose command has begun."""

    nodes: int = 0
    """That the lab had used by then."""


@dataclass(frozen=True)
class TurnResult:
    """What came of a turn: of the shell coder's one command, or of one start of the owner's agent."""

    text: str
    """What its coder saw, or printed."""
    done: bool
    """Whether the coder has ended its work."""
    items: tuple[Item, ...] = ()
    """Dated things that it brought."""
    news: dict[str, Any] = field(default_factory=dict)
    reason: str | None = None
    """Why the lab is over, where it is."""
    why: str = ""
    """Why a start of an agent ended without its lab being over."""
    capped: bool = False
    """Whether a cap ended it."""


@dataclass(frozen=True)
class Summary:
    """What stands for older turns."""

    text: str


@dataclass(frozen=True)
class LeftFile:
    """Why the file of a coder that worked alone cannot be handed in; None: it can."""

    error: str | None


LAB_OPENED = Kind("lab.open", OpenedLab)
TURN_BEGUN = Kind("lab.begun", BegunTurn)
TURN = Kind("lab.turn", TurnResult)
SUMMARIZED = Kind("lab.summary", Summary)
LEFT = Kind("lab.last", LeftFile)
