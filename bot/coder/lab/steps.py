"""The steps of a lab, what each stores, and the conversation that they make up."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bot.coder.lab.prompts import LabTurn
from bot.models import Item, Message
from bot.models.quoting import clean
from state.steps import StepKind


@dataclass(frozen=True)
class OpenedLab:
    """The head of a lab's conversation, and its time."""

    head: tuple[Message, ...]
    known_items: tuple[Item, ...]
    ends_at: float
    """Seconds of the run's time."""
    seconds: float
    news: dict[str, Any]
    """How far the news had come."""
    mark: str
    """The mark before the engine's lines."""


@dataclass(frozen=True)
class BegunTurn:
    """A turn whose command has started."""

    nodes: int = 0
    """That the lab had used by then."""


@dataclass(frozen=True)
class TurnResult:
    """The result of a turn: of the shell coder's one command, or of one start of the owner's agent."""

    text: str
    """The output that its coder saw, or printed."""
    done: bool
    """Whether the coder has ended its work."""
    items: tuple[Item, ...] = ()
    """Dated items in its output."""
    news: dict[str, Any] = field(default_factory=dict)
    reason: str | None = None
    """Why the lab is over; None: it is not."""
    stop_reason: str = ""
    """Why a start of an agent ended without its lab being over."""
    capped: bool = False
    """Whether a cap ended it."""


@dataclass(frozen=True)
class Summary:
    """The summary that replaces older turns."""

    text: str


@dataclass(frozen=True)
class LeftFile:
    """Why the file of a coder that worked alone cannot be submitted; None: it can."""

    error: str | None


LAB_OPENED = StepKind("lab.open", OpenedLab)
TURN_BEGUN = StepKind("lab.begun", BegunTurn)
TURN = StepKind("lab.turn", TurnResult)
SUMMARIZED = StepKind("lab.summary", Summary)
LAST_FILE = StepKind("lab.last", LeftFile)


COMMAND_SHOWN = 300
"""Characters of a command that are kept where it is only mentioned."""
_KEPT_TURNS = 8
"""Turns that stay whole when a conversation has become too long."""
_MENTIONED = 60
"""Most commands of older turns that are mentioned."""
_EARLIER = (
    "# What you did before\nOlder turns are omitted here. Their files are in work/, and their full output is in logs/. "
    "Their commands started with:"
)


@dataclass
class Conversation:
    """What a lab's coder said and saw; old turns give way to a summary when it has become too long."""

    head: tuple[Message, ...]
    known_items: tuple[Item, ...]
    """The dated things in its head."""
    turns: list[tuple[str, str]] = field(default_factory=list)
    """Replies, and their results."""
    fresh: tuple[Item, ...] = ()
    """What the last turn brought of dated things."""
    _summary: str | None = None
    _dropped_turns: int = 0

    @property
    def length(self) -> int:
        """How many turns there were, with those that are left out."""
        return self._dropped_turns + len(self.turns)

    def prompt(self) -> LabTurn:
        """Return what the next reply is asked for with."""
        head = self.head
        if self._summary is not None:
            head = (*head[:-1], replace(head[-1], content=f"{head[-1].content}\n\n{self._summary}"))
        return LabTurn(head, tuple(self.turns), self.known_items, self.fresh)

    def add(self, reply: str, observation: str, fresh: Sequence[Item]) -> None:
        """Go on by a turn."""
        self.turns.append((reply, observation))
        self.fresh = tuple(fresh)

    def is_too_long(self, characters: int) -> bool:
        """Return whether its turns are longer than that, and some could be left out."""
        size = sum(len(reply) + len(observation) for reply, observation in self.turns)
        return size > characters and len(self.turns) > _KEPT_TURNS

    def summary(self, board: Sequence[str]) -> str:
        """Return the summary that old turns can give way to: their commands' first words, and the board's lines."""
        lines = [f"- {' '.join(reply.split())[:COMMAND_SHOWN]}" for reply, _ in self.turns[:-_KEPT_TURNS]]
        return clean("\n".join([_EARLIER, *lines[-_MENTIONED:], "", "# The board", *board]))

    def shorten(self, summary: str) -> None:
        """Let old turns give way to their summary."""
        self._summary = summary
        self._dropped_turns += len(self.turns) - _KEPT_TURNS
        del self.turns[:-_KEPT_TURNS]
