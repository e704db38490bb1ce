"""The prompt that asks for a repair of a public kernel that failed here."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from bot.execution.machine import Machine
from bot.execution.task import TaskText
from bot.models import Item
from bot.models.parsing import one_code_block
from bot.models.template import TemplatePrompt
from state.errors import Unparsable


@dataclass(frozen=True)
class RepairKernel(TemplatePrompt[str]):
    """Ask for the smallest change with which a kernel runs here."""

    template: ClassVar[str] = "repair_kernel.j2"

    task: TaskText
    machine: Machine
    item: Item
    script: str
    begins_at: int
    """First line of the script in the executed text: the lines above it give it Kaggle's folders."""
    files: tuple[str, ...]
    """Paths below the competition's data folder."""
    fault: str
    trace: str
    """The end of its output."""
    seconds: float

    def parse(self, text: str) -> str:
        """Read the fenced script; raises Unparsable if there is none that compiles."""
        code = one_code_block(text)
        try:
            compile(code, "kernel.py", "exec")
        except (SyntaxError, ValueError) as error:
            raise Unparsable(f"the script does not compile: {error}; send the whole script again") from error
        return code

    def items(self) -> Sequence[Item]:
        """Return the kernel."""
        return (self.item,)
