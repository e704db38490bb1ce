"""Turns of a live run: it begins a node when it has a slot, is not paused, and has not begun its day's number of them."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from sqlmodel import col, func, select

from bot.engine.tree import Tree
from bot.live.slots import Slots
from state.clock import Clock
from state.errors import BudgetExceeded
from state.store import Store
from state.tables import Node

__all__ = ["LiveTurns"]


@dataclass
class LiveTurns:
    """Tells one live search when; see `bot.engine.turns.Turns`."""

    slots: Slots
    name: str
    store: Store
    run_id: str
    clock: Clock
    nodes_per_day: int
    paused: Callable[[], bool]
    ended: Callable[[], None]
    """Called when a node has ended."""
    renewed: int | None = None
    """The last node that was begun before the run learnt of something worth another round."""
    over: bool = False

    def free(self, running: int) -> int:
        """Return how many more nodes may be begun now."""
        if self.over or self.paused() or (left := self.nodes_per_day - self.begun_today()) <= 0:
            self.slots.rest(self.name)
            return 0
        return min(left, self.slots.free(self.name))

    def begin(self) -> None:
        """Take a slot."""
        self.slots.begin(self.name)

    def end(self, seconds: float) -> None:
        """Give it back."""
        self.slots.end(self.name, seconds)
        self.ended()

    def more_later(self) -> bool:
        """Return whether the competition goes on."""
        return not self.over

    async def changed(self) -> None:
        """Return when a slot may have come free, or with a new day, a pause or its end, or news."""
        changed = asyncio.ensure_future(self.slots.changed())
        day = asyncio.ensure_future(self.clock.sleep(_seconds_to_midnight(self.clock.now())))
        try:
            await asyncio.wait({changed, day}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in (changed, day):
                one.cancel()

    def renewed_after(self) -> int | None:
        """Return the last node that was begun before the last news."""
        return self.renewed

    async def before_decision(self, number: int, tree: Tree) -> None:
        """Do nothing: news are taken in by tasks of their own, as they come."""

    def renew(self) -> None:
        """Have the search open another round of drafts, now that there is news."""
        with self.store.read() as session:
            self.renewed = session.exec(select(func.max(Node.id)).where(Node.run_id == self.run_id)).one()
        self.slots.pulse()

    async def renews(self, error: BudgetExceeded) -> bool:
        """Return True with the next day, if it is a day's cap that is reached; the slot is given up meanwhile."""
        if not error.renews:
            return False
        self.slots.end(self.name, 0.0)
        try:
            await self.clock.sleep(_seconds_to_midnight(self.clock.now()))
        finally:
            self.slots.begin(self.name)
        return True

    def begun_today(self) -> int:
        """Return how many nodes were begun on this day (UTC)."""
        day = _day(self.clock.now())
        with self.store.read() as session:
            begun = select(func.count()).where(Node.run_id == self.run_id, col(Node.created_at) >= day)
            return session.exec(begun).one()


def _day(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _seconds_to_midnight(now: datetime) -> float:
    tomorrow: date = now.date() + timedelta(days=1)
    return (datetime.combine(tomorrow, datetime.min.time(), now.tzinfo) - now).total_seconds() + 0.001
