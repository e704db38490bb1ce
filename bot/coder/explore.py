"""The prompt of a live session: one more cell, or done, with notes for the script."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from bot.coder import Attempt, Cell, Machine, ScriptAction, TaskText
from bot.models import Item
from bot.models.parsing import one_code_block, without_reasoning
from bot.models.template import TemplatePrompt
from state.errors import Unparsable

CELL_CHARACTERS = 8_000
NOTES_CHARACTERS = 4_000


@dataclass(frozen=True)
class ExploreAnswer:
    """The next cell, or none and the notes."""

    cell: str | None
    notes: str = ""


@dataclass(frozen=True)
class Explore(TemplatePrompt[ExploreAnswer]):
    """Ask for the next cell of a live session."""

    template: ClassVar[str] = "explore.j2"
    volatile: ClassVar[Mapping[str, object]] = {"seconds_left": 0.0, "cell_seconds": 0.0, "execution_seconds": 0.0}

    task: TaskText
    preview: str
    machine: Machine
    action: ScriptAction
    view: str
    title: str
    draft: str
    codebase: str | None
    earlier: str
    attempts: tuple[Attempt, ...]
    cells: tuple[Cell, ...]
    cells_left: int
    seconds_left: float
    """Of cells that run; what the model takes to answer does not count."""
    cell_seconds: float
    execution_seconds: float
    known: tuple[Item, ...] = ()
    """Where the draft comes from."""

    def parse(self, text: str) -> ExploreAnswer:
        """Read DONE and the notes, or the fenced cell, which need not be plain Python; raises Unparsable for neither."""
        first, _, rest = without_reasoning(text).strip().partition("\n")
        if first.strip(" *`#.:!").upper() == "DONE":
            return ExploreAnswer(None, rest.strip()[:NOTES_CHARACTERS])
        cell = one_code_block(text)
        if len(cell) > CELL_CHARACTERS:
            raise Unparsable(f"the cell has more than {CELL_CHARACTERS} characters: send a shorter one, or DONE")
        return ExploreAnswer(cell)

    def items(self) -> Sequence[Item]:
        """Return the draft's sources, and the owner's notes."""
        return (*self.known, *self.task.items())
