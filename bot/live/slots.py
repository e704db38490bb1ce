"""Which competition begins the next script, by weight, deadline and promise, and when a run may begin one of its own."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlmodel import col, func, select

from bot.engine.tree import Tree
from state.clock import Clock
from state.errors import BudgetExceeded
from state.store import Store
from state.tables import Node

_FIRST_COST = 60.0
"""Seconds that a node is taken to need before one has ended."""
_SMOOTHING = 0.3


@dataclass
class Share:
    """One competition's part in the slots."""

    name: str
    weight: Callable[[], float]
    """Returns how much it counts now, above 0."""
    wants: bool = False
    """Whether it would begin a node if it could."""
    running: int = 0
    served: float = 0.0
    """Seconds that it had, each divided by its weight then: who has had the least is next."""
    cost: float = _FIRST_COST
    """Seconds that its nodes take, as far as they are known."""


@dataclass
class Slots:
    """Slots that competitions share; whoever has had the least for its weight is next (stride scheduling).

    Source of the rule: Waldspurger and Weihl, Stride Scheduling, 1995.
    """

    total: int
    shares: dict[str, Share] = field(default_factory=dict)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def join(self, name: str, weight: Callable[[], float]) -> Share:
        """Take part; who comes later does not make up for the time before."""
        share = self.shares[name] = Share(name, weight)
        share.served = min((one.served for one in self.shares.values() if one is not share), default=0.0)
        return share

    def leave(self, name: str) -> None:
        """Take part no more."""
        self.shares.pop(name, None)
        self.pulse()

    def free(self, name: str) -> int:
        """Return how many nodes a competition may begin now: those slots that nobody before it in line would take."""
        share = self.shares[name]
        share.wants = True
        free = self.total - sum(one.running for one in self.shares.values())
        if free <= 0:
            return 0
        ahead = [one for one in self.shares.values() if one.wants and one is not share and _before(one, share)]
        return max(0, free - len(ahead))

    def rest(self, name: str) -> None:
        """Want none for now: nobody waits for it."""
        if self.shares[name].wants:
            self.shares[name].wants = False
            self.pulse()

    def begin(self, name: str) -> None:
        """Take a slot."""
        share = self.shares[name]
        share.running += 1
        share.wants = False

    def end(self, name: str, seconds: float) -> None:
        """Give a slot back after so many seconds."""
        share = self.shares.get(name)
        if share is None:
            return
        share.running = max(0, share.running - 1)
        share.served += seconds / max(share.weight(), 1e-9)
        share.cost += _SMOOTHING * (seconds - share.cost)
        self.pulse()

    def pulse(self) -> None:
        """Let all look again who wait."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def changed(self) -> None:
        """Return when somebody has given a slot back, or something else has changed."""
        await self._changed.wait()


def urgency(now: datetime, deadline: datetime, *, recent: int, gains: int, scored: bool) -> float:
    """Return by how much a competition's weight is to be multiplied.

    Args:
        now: the time.
        deadline: when it ends.
        recent: its last nodes that are looked at.
        gains: how many of these were better than all before them.
        scored: whether it has a node with a score at all.
    """
    days = (deadline - now).total_seconds() / 86_400
    near = 3.0 if days < 2 else 2.0 if days < 7 else 1.0
    promise = 1.0 + (gains / recent if recent else 0.0)
    return near * promise * (1.0 if scored else 2.0)


def _before(one: Share, other: Share) -> bool:
    return (_had(one), one.name) < (_had(other), other.name)


def _had(share: Share) -> float:
    """Return what it had, and what its nodes that run are likely to take."""
    return share.served + share.running * share.cost / max(share.weight(), 1e-9)


@dataclass
class LivePacing:
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

    def free(self, running: int) -> int:
        """Return how many more nodes may be begun now."""
        if self.paused() or (left := self.nodes_per_day - self.begun_today()) <= 0:
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
        return True

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
        day = self.clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
        with self.store.read() as session:
            begun = select(func.count()).where(Node.run_id == self.run_id, col(Node.created_at) >= day)
            return session.exec(begun).one()


def _seconds_to_midnight(now: datetime) -> float:
    midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return (midnight - now).total_seconds() + 0.001
