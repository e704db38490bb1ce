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
