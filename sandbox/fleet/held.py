"""A slot that is held for one execution."""

from dataclasses import dataclass, field
from typing import Any

from sandbox import Lease
from sandbox.fleet.slot import SlotFacts, SlotPlan


@dataclass
class HeldSlot:
    """A slot, and what is known of its node."""

    handle: Any
    facts: SlotFacts
    plan: SlotPlan
    memory_bytes: int
    since: float = 0.0
    """When it was last given back."""
    lost: bool = False


@dataclass(frozen=True)
class PlacedLease(Lease):
    """A lease whose cores and GPUs are another machine's."""

    slot: HeldSlot | None = field(default=None, compare=False)

    @property
    def lost(self) -> bool:
        """Whether its slot is lost."""
        return self.slot is not None and self.slot.lost


def slot_of(lease: Lease) -> HeldSlot | None:
    """Return the slot that a lease is; None: it is one of this machine."""
    return lease.slot if isinstance(lease, PlacedLease) else None
