"""The daemon's machine: its disk, its backups, and the Docker engine and GPUs that scripts need."""

import asyncio
import contextlib
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from bot.execution.disk_space import DiskSettings, free_bytes
from bot.execution.unneeded_files import Prunable, prune, unneeded_files
from bot.live.shared import Shared
from bot.notify import Notice
from bot.status.problems import begin, begin_work_broken, end
from sandbox.docker import DockerSandbox
from sandbox.gpu import open_gpus
from state.backup import back_up
from state.errors import StateCorrupted, StateUnavailable
from state.store import NO_RUN, Store

_ENOUGH = 1.25
"""Times the wanted space that ends the problem: otherwise a disk at its limit would begin it again and again."""
_DISK, _BACKUP = "disk", "backup"


async def check_devices(shared: Shared) -> None:
    """Check the Docker engine and the GPUs that scripts run on; the owner is notified once of one that fails."""
    sandbox, problems = shared.machinery.sandbox, dict[str, str | None]()
    if isinstance(sandbox, DockerSandbox):
        problems["Docker"] = await asyncio.to_thread(sandbox.problem)
    if shared.gpus:
        gpu_count = await asyncio.to_thread(_gpus)
        problems["GPU"] = (
            None if gpu_count >= shared.gpus else f"{gpu_count} GPUs are visible, but a script needs {shared.gpus}"
        )
    with shared.store.write(durable=False) as tx:
        for device, problem in problems.items():
            if problem is None:
                end(tx, device)
            else:
                begin_work_broken(tx, device, device, f"{problem}; `bot doctor` shows more")


def bound_disk(settings: DiskSettings, folder: Path, store: Store, now: datetime) -> list[Prunable]:
    """Remove what is old and no longer needed; if the disk is nearly full, also what is newer.

    It removes what killed runs left behind, the views of runs that ended, and predictions and submissions of executions
    whose nodes are neither among their run's best, nor sent, nor being worked on. It may take long: call it in a thread.

    `now` is the machine's time, by which files are dated, whatever the daemon's clock. Returns what was removed.
    """
    runs = folder / "runs"
    removed = list(_removed(store, runs, settings.keep_days, now))
    if free_bytes(folder) < settings.free_gb * 1e9:
        removed += _removed(store, runs, 0.0, now)
    free, needed_gb = free_bytes(folder) / 1e9, settings.free_gb
    with store.write() as tx:
        if removed:
            freed = sum(item.bytes for item in removed)
            tx.record("disk.bounded", run_id=NO_RUN, bytes=freed, places=len(removed), free_bytes=int(free * 1e9))
        if free < needed_gb:
            sentence = (
                f"the disk of {folder} has {free:.1f} GB free, and {needed_gb:g} GB are wanted (free_gb under [disk] in "
                "bot.toml): make room, or give it a larger disk"
            )
            facts = {"since": tx.now(), "folder": str(folder), "free_gb": free, "wanted_gb": needed_gb}
            begin(tx, _DISK, sentence, Notice("problem.disk", "", facts))
        elif free >= needed_gb * _ENOUGH:
            end(tx, _DISK)
    return removed


def back_up_daily(store: Store, keep: int) -> Path | None:
    """Make the day's backup; None if that failed, which is a problem until one succeeds.

    Raises:
        StateCorrupted: the database is damaged, and no later backup can succeed; the problem is recorded if possible.
    """
    try:
        backup = back_up(store, keep=keep)
    except (StateUnavailable, OSError) as error:
        _not_backed_up(store, error)
        return None
    except StateCorrupted as error:
        with contextlib.suppress(StateCorrupted, StateUnavailable):
            _not_backed_up(store, error)
        raise
    with store.write() as tx:
        end(tx, _BACKUP)
    return backup


def _not_backed_up(store: Store, error: Exception) -> None:
    with store.write() as tx:
        tx.record("backup.failed", run_id=NO_RUN, error=str(error))
        begin(tx, _BACKUP, f"today's backup failed: {error}")


def _removed(store: Store, runs: Path, keep_days: float, now: datetime) -> Iterator[Prunable]:
    yield from prune(runs, keep_days, now, dry_run=False)
    with store.read() as session:
        unneeded = list(unneeded_files(session, runs, now - timedelta(days=keep_days)))
    for path in unneeded:
        with contextlib.suppress(FileNotFoundError):
            size = path.lstat().st_blocks * 512
            path.unlink()
            yield Prunable("files", str(path), size, f"removed {path}")


def _gpus() -> int:
    with open_gpus() as gpus:
        return len(gpus.all())
