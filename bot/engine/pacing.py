"""Pacing: when a search may start another node, as several searches may share a machine."""

import asyncio

from bot.engine.tree import Tree
from state.errors import BudgetExceeded


class SearchPacing:
    """Decides when one search may start nodes; this one has the machine to itself, and its nodes start at once."""

    def free(self, running: int) -> int:
        """Return how many more nodes may start now, beside those that run: here more than any search has slots."""
        return 1 << 30

    def begin(self) -> None:
        """Count a node that starts."""

    def end(self, seconds: float) -> None:
        """Count a node that ended, in whatever way, after so many seconds."""

    def more_later(self) -> bool:
        """Return whether more may start later; if not, the search ends as soon as nothing runs."""
        return False

    async def changed(self) -> None:
        """Return when the other methods may have new answers: here never."""
        await asyncio.Event().wait()

    def renewed_after(self) -> int | None:
        """Return the last node started before the latest news; see `Remaining`."""
        return None

    async def before_decision(self, number: int, tree: Tree) -> None:
        """Read new posts, before the policy's decision with this number (from 0).

        It is called again with the same number if the bot died meanwhile. Raises what a playbook may raise.
        """

    async def renews(self, error: BudgetExceeded) -> bool:
        """Wait until the refused work may be retried and return True; return False at once if it never may."""
        return False
