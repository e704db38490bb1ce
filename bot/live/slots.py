"""Which competition starts the next node, by weight, deadline and promise, and when a run may start one."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime

from sqlmodel import col, func, select

from bot.engine.pacing import SearchPacing
from bot.engine.tree import SEPARATE
from state.clock import Clock, midnight
from state.errors import BudgetExceeded
from state.store import Store
from state.tables import Node

_FIRST_COST = 60.0
"""Assumed seconds of a node until one has ended."""
_SMOOTHING = 0.3


@dataclass
class SlotShare:
    """One competition's share of the slots."""

    name: str
    weight: Callable[[], float]
    """Returns its current weight, above 0."""
    wants: bool = False
    """Whether it would start a node if it could."""
    running: int = 0
    served: float = 0.0
    """Seconds it was given, each divided by its weight at the time: the competition with the least is next."""
    cost: float = _FIRST_COST
    """Estimated seconds of one of its nodes."""


@dataclass
class Slots:
    """Slots that competitions share; the one that was given the least for its weight is next (stride scheduling).

    Source of the rule: Waldspurger and Weihl, Stride Scheduling, 1995.
    """

    total: int
    shares: dict[str, SlotShare] = field(default_factory=dict)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def join(self, name: str, weight: Callable[[], float]) -> SlotShare:
        """Take part; a latecomer does not catch up on the time before."""
        share = self.shares[name] = SlotShare(name, weight)
        share.served = min((peer.served for peer in self.shares.values() if peer is not share), default=0.0)
        return share

    def leave(self, name: str) -> None:
        """Stop taking part."""
        self.shares.pop(name, None)
        self.pulse()

    def free(self, name: str) -> int:
        """Return how many nodes a competition may start now: the free slots that no one ahead of it in line would take."""
        share = self.shares[name]
        share.wants = True
        free = self.total - sum(peer.running for peer in self.shares.values())
        if free <= 0:
            return 0
        position = _expected_use(share), share.name
        earlier = [peer for peer in self.shares.values() if peer.wants and (_expected_use(peer), peer.name) < position]
        return max(0, free - len(earlier))

    def withdraw(self, name: str) -> None:
        """Want no slot for now, so that others need not wait for it."""
        if self.shares[name].wants:
            self.shares[name].wants = False
            self.pulse()

    def begin(self, name: str) -> None:
        """Take a slot."""
        share = self.shares[name]
        share.running += 1
        share.wants = False

    def end(self, name: str, seconds: float) -> None:
        """Give a slot back after `seconds` of use."""
        share = self.shares.get(name)
        if share is None:
            return
        share.running = max(0, share.running - 1)
        share.served += seconds / max(share.weight(), 1e-9)
        share.cost += _SMOOTHING * (seconds - share.cost)
        self.pulse()

    def pulse(self) -> None:
        """Wake all who wait for a change."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def changed(self) -> None:
        """Return once a slot was given back, or something else has changed."""
        await self._changed.wait()


async def wait_for_any(*waits: Awaitable[None]) -> None:
    """Return when one of them ends; the others are cancelled."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


def urgency(now: datetime, deadline: datetime, *, recent: int, gains: int, scored: bool) -> float:
    """Return the factor by which a competition's weight is multiplied.

    Of the `recent` latest nodes that count, `gains` were better than all before them.
    """
    days = (deadline - now).total_seconds() / 86_400
    urgency_factor = 3.0 if days < 2 else 2.0 if days < 7 else 1.0
    promise = 1.0 + (gains / recent if recent else 0.0)
    return urgency_factor * promise * (1.0 if scored else 2.0)


def _expected_use(share: SlotShare) -> float:
    """Return what a share was given, plus what its running nodes are likely to take."""
    return share.served + share.running * share.cost / max(share.weight(), 1e-9)


@dataclass
class LivePacing(SearchPacing):
    """Paces one live search; tasks of their own take in news as they come."""

    slots: Slots
    name: str
    store: Store
    run_id: str
    clock: Clock
    nodes_per_day: int
    labs_per_day: int | None
    """None: its strategy opens no labs."""
    is_paused: Callable[[], bool]
    on_node_ended: Callable[[], None]
    renewed: int | None = None
    """The last node that was started before news that are worth another round."""

    def free(self, running: int) -> int:
        """Return how many more nodes may be started now."""
        if self.is_paused() or (free_today := self.left_today()) <= 0:
            self.slots.withdraw(self.name)
            return 0
        return min(free_today, self.slots.free(self.name))

    def begin(self) -> None:
        """Take a slot."""
        self.slots.begin(self.name)

    def end(self, seconds: float) -> None:
        """Give it back."""
        self.slots.end(self.name, seconds)
        self.on_node_ended()

    def more_later(self) -> bool:
        """Return whether the competition goes on."""
        return True

    async def changed(self) -> None:
        """Return when a slot may be free, a day or a pause begins or ends, or there are news."""
        await wait_for_any(self.slots.changed(), self.clock.sleep(_seconds_to_midnight(self.clock.now())))

    def renewed_after(self) -> int | None:
        """Return the last node that was started before the latest news."""
        return self.renewed

    def renew(self) -> None:
        """Have the search open another round of drafts, because of news."""
        with self.store.read() as session:
            self.renewed = session.exec(select(func.max(Node.id)).where(Node.run_id == self.run_id)).one()
        self.slots.pulse()

    async def renews(self, error: BudgetExceeded) -> bool:
        """If a day's cap is reached, give up the slot, wait for the next day and return True; otherwise return False."""
        if not error.renews:
            return False
        self.slots.end(self.name, 0.0)
        try:
            await self.clock.sleep(_seconds_to_midnight(self.clock.now()))
        finally:
            self.slots.begin(self.name)
        return True

    def left_today(self) -> int:
        """Return how many more nodes, each with a lab of its own where there are labs, may be started today (UTC)."""
        day = midnight(self.clock.now())
        with self.store.read() as session:
            query = select(func.count()).where(Node.run_id == self.run_id, col(Node.created_at) >= day)
            free_today = self.nodes_per_day - session.exec(query.where(col(Node.action).not_in(SEPARATE))).one()
            if self.labs_per_day is None:
                return free_today
            # The first node of a draft is the one that opens its lab.
            drafts = select(Node.draft_id).where(Node.run_id == self.run_id, col(Node.draft_id).is_not(None))
            labs_today = session.exec(drafts.group_by(Node.draft_id).having(func.min(Node.created_at) >= day)).all()
            return min(free_today, self.labs_per_day - len(labs_today))


def _seconds_to_midnight(now: datetime) -> float:
    return (midnight(now, 1) - now).total_seconds() + 0.001
