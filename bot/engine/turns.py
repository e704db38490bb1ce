"""Turns: when a search may begin another node, which is up to more than itself where several share a machine."""

import asyncio
from typing import Protocol

from bot.engine.tree import Tree
from state.errors import BudgetExceeded


class Turns(Protocol):
    """Says when; asked by one search."""

    def free(self, running: int) -> int:
        """Return how many more nodes may be begun now, beside those that run."""

    def begin(self) -> None:
        """Be told that a node is begun."""

    def end(self, seconds: float) -> None:
        """Be told that a node has ended after so many seconds, however it did."""

    def more_later(self) -> bool:
        """Return whether more may be begun at some time; else the search ends as soon as nothing runs."""

    async def changed(self) -> None:
        """Return when any answer may have become another one."""

    def renewed_after(self) -> int | None:
        """Return the last node that was begun before something new was learnt; see `Remaining`."""

    async def before_decision(self, number: int, tree: Tree) -> None:
        """Take in what has become known, before the policy decides for the so many-th time (from 0).

        It is called again under the number when the bot died over it. Raises as a playbook does.
        """

    async def renews(self, error: BudgetExceeded) -> bool:
        """Return True once what was refused may be tried again, at once False where that time does not come."""


class AtOnce:
    """A search that has the machine to itself: nothing is ever waited for."""

    def free(self, running: int) -> int:
        """Return more than any search has slots."""
        return 1 << 30

    def begin(self) -> None:
        """Do nothing."""

    def end(self, seconds: float) -> None:
        """Do nothing."""

    def more_later(self) -> bool:
        """Return False: what cannot be begun now never will be."""
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
