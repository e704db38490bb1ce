"""Charging: what an execution has used is written into the ledger and counted."""

import time
from pathlib import Path

from bot.budgets.levels import Reservation
from sandbox import ExecutionRequest
from state.spending import charge
from state.store import Transaction


class ExecutionMeter:
    """The spending of one execution, from its start on."""

    def __init__(self, reservation: Reservation, run_id: str, request: ExecutionRequest, node: int) -> None:
        self._held = reservation
        self._run_id = run_id
        self._request = request
        self._node = node
        self._started = time.monotonic()
        self._bytes_before = _folder_bytes(request.out)

    def charge(self, tx: Transaction, seconds: float | None = None) -> None:
        """Charge the execution, its GPUs and disk, in the transaction that ends it; None: the seconds since its start."""
        seconds_taken = time.monotonic() - self._started if seconds is None else seconds
        added_bytes = max(0, _folder_bytes(self._request.out) - self._bytes_before)
        self._held.spend(executions=1, disk_bytes=added_bytes)
        charge(tx, self._run_id, "execution", node=self._node, seconds=seconds_taken, amount=1)
        if added_bytes:
            charge(tx, self._run_id, "disk", node=self._node, amount=added_bytes)
        if gpus := len(self._request.lease.gpus):
            self._held.spend(gpu_seconds=seconds_taken * gpus)
            charge(tx, self._run_id, "gpu", node=self._node, seconds=seconds_taken, amount=seconds_taken * gpus)


def _folder_bytes(folder: Path) -> int:
    """Return the bytes of the files in a folder; 0 if there is no folder."""
    if not folder.is_dir():
        return 0
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
