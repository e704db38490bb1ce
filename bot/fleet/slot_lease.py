"""A slot that is held for one execution, or waited for."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from bot.fleet.slot import SlotFacts, SlotPlan
from sandbox import Lease


@dataclass
class AcquiredSlot:
    """A slot, and what is known of its node."""

    handle: Any
    facts: SlotFacts
    plan: SlotPlan
    memory_bytes: int
    since: float = 0.0
    """When it was last given back."""
    lost: bool = False


@dataclass(frozen=True)
class RemoteLease(Lease):
    """A lease whose cores and GPUs are another machine's."""

    slot: AcquiredSlot | None = field(default=None, compare=False)

    @property
    def lost(self) -> bool:
        """Whether its slot is lost."""
        return self.slot is not None and self.slot.lost


def slot_of(lease: Lease) -> AcquiredSlot | None:
    """Return the slot that a lease is; None: it is one of this machine."""
    return lease.slot if isinstance(lease, RemoteLease) else None


@dataclass(eq=False)
class SlotRequest:
    """A slot that somebody waits for."""

    plan: SlotPlan
    memory_bytes: int
    node: str | None
    """On which it must be; None: on any."""
    slot: AcquiredSlot | None = None
    """One that was given back meanwhile."""
    was_given: asyncio.Event = field(default_factory=asyncio.Event)

    def is_met_by(self, slot: AcquiredSlot) -> bool:
        """Return whether a slot is such a one."""
        return (slot.plan, slot.memory_bytes) == (self.plan, self.memory_bytes) and self.node in (None, slot.facts.node)
