"""Charging: an execution's resources are reserved, then written into the ledger and counted."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bot.budgets.levels import Held, Level
from sandbox import ExecutionRequest
from state.spending import charge
from state.store import Transaction


class Meter:
    """The spending of one execution, from its start on."""

    def __init__(self, held: Held, run_id: str, request: ExecutionRequest, node: int) -> None:
        self._held = held
        self._run_id = run_id
        self._request = request
        self._node = node
        self._started = time.monotonic()
        self._bytes_before = folder_bytes(request.out)

    def charge(self, tx: Transaction, seconds: float | None = None) -> None:
        """Charge the execution, its GPUs and what it left on disk, in the transaction that ends it.

        Args:
            tx: the transaction.
            seconds: its wall seconds; None: those since its start.
        """
        took = time.monotonic() - self._started if seconds is None else seconds
        grown = max(0, folder_bytes(self._request.out) - self._bytes_before)
        self._held.spend(executions=1, disk_bytes=grown)
        charge(tx, self._run_id, "execution", node=self._node, seconds=took, amount=1)
        if grown:
            charge(tx, self._run_id, "disk", node=self._node, amount=grown)
        if gpus := len(self._request.lease.gpus):
            self._held.spend(gpu_seconds=took * gpus)
            charge(tx, self._run_id, "gpu", node=self._node, seconds=took, amount=took * gpus)


@asynccontextmanager
async def metered(level: Level, run_id: str, request: ExecutionRequest, node: int) -> AsyncIterator[Meter]:
    """Reserve what an execution may spend while it runs; its lease is held already.

    Args:
        level: the run's level.
        run_id: the run.
        request: the request as executed, with its lease and its time limit.
        node: the script's node.

    Raises:
        BudgetExceeded: it does not fit; nothing was started.
    """
    gpu_seconds = request.limits.seconds * len(request.lease.gpus)
    async with level.reserve(executions=1, gpu_seconds=gpu_seconds) as held:
        yield Meter(held, run_id, request, node)


def folder_bytes(folder: Path) -> int:
    """Return the bytes of the files in a folder; 0 if there is no folder."""
    if not folder.is_dir():
        return 0
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
