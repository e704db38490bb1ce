"""Pacing: when a search may start another node, as several searches may share a machine."""

import asyncio
from typing import Protocol

from bot.engine.tree import Tree
from state.errors import BudgetExceeded


class SearchPacing(Protocol):
    """Decides when one search may start nodes."""

    def free(self, running: int) -> int:
        """Return how many more nodes may start now, beside those that run."""

    def begin(self) -> None:
        """Count a node that starts."""

    def end(self, seconds: float) -> None:
        """Count a node that ended, in whatever way, after so many seconds."""

    def more_later(self) -> bool:
        """Return whether more may start later; if not, the search ends as soon as nothing runs."""

    async def changed(self) -> None:
        """Return when the other methods may have new answers."""

    def renewed_after(self) -> int | None:
        """Return the last node started before the latest news; see `Remaining`."""

    async def before_decision(self, number: int, tree: Tree) -> None:
        """Read new posts, before the policy's decision with this number (from 0).

        It is called again with the same number if the bot died meanwhile. Raises what a playbook may raise.
        """

    async def renews(self, error: BudgetExceeded) -> bool:
        """Wait until the refused work may be retried and return True; return False at once if it never may."""


class Unpaced:
    """The pacing of a search that has the machine to itself: nodes start at once."""

    def free(self, running: int) -> int:
        """Return more than any search has slots."""
        return 1 << 30

    def begin(self) -> None:
        """Do nothing."""

    def end(self, seconds: float) -> None:
        """Do nothing."""

    def more_later(self) -> bool:
        """Return False: what cannot start now never can."""
        return False

    async def changed(self) -> None:
        """Never return."""
        await asyncio.Event().wait()

    def renewed_after(self) -> int | None:
        """Return None."""
        return None

    async def before_decision(self, number: int, tree: Tree) -> None:
        """Do nothing."""

    async def renews(self, error: BudgetExceeded) -> bool:
        """Return False."""
        return False
