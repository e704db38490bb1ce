"""A lab's conversation: what opens it, and one turn of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from bot.coder.lab.failures import ErrorPattern
from bot.execution.machine import Machine
from bot.execution.task import TaskText
from bot.models import Item, Message
from bot.models.commands import command_in
from bot.models.template import TemplatePrompt
from bot.models.tools import Tool

SHELL = Tool(
    name="sh",
    description="Run one command in the lab's bash and see what it prints.",
    parameter="command",
    parameter_description="The command, on one or more lines.",
)


@dataclass(frozen=True)
class FoldFacts:
    """How the training rows of a run are cut into folds, as folds.json says it."""

    kind: str
    """`random`, `stratified`, `grouped` or `forward`."""
    metric_per_fold: bool
    """Whether a score out of fold is the mean of the folds' scores."""
    folds: int
    column: str | None = None
    """The column of times or groups that they are cut by."""
    blocks: bool = False
    """Whether a fold is a block of consecutive rows from each period."""


@dataclass(frozen=True)
class LabTask(TemplatePrompt[None]):
    """The head of a lab's conversation: the system message and TASK.md."""

    template: ClassVar[str] = "lab_task.j2"

    task: TaskText
    preview: str
    machine: Machine
    title: str
    draft: str
    codebase: bool
    """Whether `work/solution.py` holds the script that the draft starts from."""
    inherited: tuple[str, ...]
    """Files that the lab of that script left, and that lie in the new one's work/."""
    board: tuple[str, ...]
    """What this lab's kin and the best of the run scored, a line each."""
    cards: tuple[str, ...]
    failures: tuple[ErrorPattern, ...]
    """What failed before in this run."""
    notes: tuple[str, ...]
    """Notes that other labs left."""
    kernels: tuple[str, ...]
    """The best published kernels that were not run here: file, score, votes and title, a line each."""
    topics: tuple[str, ...]
    """The topics with the most votes: file, messages, votes, size and title, a line each."""
    posts: int
    knowledge: int
    """Entries of the knowledge base that lie in the lab."""
    folds: FoldFacts | None
    """How the training rows are cut into folds; None: they are not."""
    arrays: str | None
    """The shape of an experiment's arrays, in a phrase; None: no experiments are scored."""
    scripts: bool
    """Whether whole scripts are scored and submitted."""
    fits: bool
    """Whether the engine fits its portfolio on a coder's features."""
    seconds: float
    turns: int
    command_seconds: float
    """Time limit of a command."""
    ideas: bool
    """Whether the pool has ideas for the draft."""
    blends: bool = False
    """Whether the engine combines experiments."""
    best_measured: tuple[str, ...] = ()
    """The best that were run here: file, measured and published score, seconds and title, a line each."""
    public: bool = False
    """Whether the script that the draft starts from is a public kernel."""
    lab: bool = True
    """Whether there is the command `lab`; a coder alone (`solo`) has none."""
    own: bool = False
    """Whether it is for a coding agent of the owner's, which has its own way to run commands."""
    mark: str = ""
    """The mark before the engine's lines in the coder's input."""

    def parse(self, text: str) -> None:
        """Return nothing, as it is never sent by itself."""

    def items(self) -> Sequence[Item]:
        """Return the owner's notes."""
        return self.task.items()


@dataclass(frozen=True)
class LabReply:
    """One reply of the coder."""

    text: str
    command: str | None
    """None if it has none."""


@dataclass(frozen=True)
class LabTurn:
    """One turn: the conversation so far, which only grows, but for old turns that are left out."""

    head: tuple[Message, ...]
    turns: tuple[tuple[str, str], ...]
    """Replies with their observations, oldest first."""
    known_items: tuple[Item, ...] = ()
    """All that the coder could have read in its lab when it opened."""
    fresh: tuple[Item, ...] = ()
    """What the last observation brought, or lies in the lab since then."""

    tool: ClassVar[Tool] = SHELL

    @property
    def name(self) -> str:
        """The prompt's name."""
        return "lab_turn"

    def messages(self) -> Sequence[Message]:
        """Return the whole conversation."""
        conversation = (m for reply, o in self.turns for m in (Message("assistant", reply), Message("user", o)))
        return (*self.head, *conversation)

    def parse(self, text: str) -> LabReply:
        """Read the command of a reply, if it has one."""
        return LabReply(text.strip() or "(no answer)", command_in(text))

    def items(self) -> Sequence[Item]:
        """Return what the coder could have read: with the first turn, as it stays so, and may be thousands of posts."""
        return self.fresh if self.turns else self.known_items
