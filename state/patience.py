"""Patience: a result that was paid for is stored as soon as the database can be written to again."""

from collections.abc import Callable
from typing import TypeVar

from state.errors import StateUnavailable
from state.store import Store, Transaction

PATIENCE = 600.0
"""Seconds to wait for the end of a full disk, a lock or a lack of descriptors."""
_FIRST_PAUSE = 0.25
_LONGEST_PAUSE = 15.0

ResultT = TypeVar("ResultT")


async def patiently(store: Store, work: Callable[[Transaction], ResultT], *, seconds: float = PATIENCE) -> ResultT:
    """Do work in one transaction; while the database is unavailable, wait and try again.

    `work` may be called several times; a failed try leaves nothing behind. The pauses take `seconds` in all.

    Raises:
        StateUnavailable: the database stayed unavailable for longer.
        StateCorrupted: waiting would not help.
        Whatever `work` raises.
    """
    waited, pause = 0.0, _FIRST_PAUSE
    while True:
        try:
            with store.write() as tx:
                return work(tx)
        except StateUnavailable:
            if waited >= seconds:
                raise
        await store.clock.sleep(pause)
        waited, pause = waited + pause, min(2 * pause, _LONGEST_PAUSE)
