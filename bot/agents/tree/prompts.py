"""AIDE's prompt for a script: a simple first one, a repair, or one change to a working script."""

from dataclasses import dataclass
from typing import ClassVar

from bot.coder.prompts import WriteScript


@dataclass(frozen=True)
class WriteTreeScript(WriteScript):
    """Ask for one script of a tree search; `draft` has the reader's text, `attempts` the parent alone."""

    template: ClassVar[str] = "write_tree_script.j2"

    memory: str = ""
    """Design, findings and score of the search's earlier scripts; empty for a repair."""
