"""What a lab works on, and who decides it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from bot.engine.strategy import Action
from bot.engine.tree import Tree
from bot.models import Item


@dataclass(frozen=True)
class LabAssignment:
    """What one lab works on."""

    title: str
    draft: str
    codebase: int | None = None
    """The node whose work it starts from."""
    parents: tuple[int, ...] = ()
    """Further nodes that it is to know, such as the second parent of a crossover."""
    known_items: tuple[Item, ...] = ()
    """What the draft was made of."""
    ideas: Callable[[], Sequence[tuple[str, Item]]] = tuple
    """Returns the pool's ideas as of the clock, a line each."""
    seconds: float | None = None
    """That it was given when it was planned; None: as the settings have it."""
    max_seconds: float = math.inf
    """Maximum seconds, whatever else is left."""
    replied: Callable[[], None] = lambda: None
    """Called at the coder's first reply, when other model calls may start: an endpoint may answer one at a time."""
    alone: bool = False
    """Whether the coder has the competition's own files and nothing of the engine: no command `lab`, no hold-out, no posts."""


class LabBriefing(Protocol):
    """An agent's way to turn an action into a lab's assignment."""

    async def lab(self, action: Action, node: int, tree: Tree) -> LabAssignment:
        """Return what the lab works on; may call models (a draft's plan)."""

    async def closed(self, action: Action, node: int, tree: Tree) -> None:
        """Process the results of a lab that has closed."""
        return
