"""Checks of the machine: what scripts may use, disk, database, leases."""

import os
import tempfile
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from bot.doctor import Check, nearest
from bot.execution.disk_space import DiskSettings, free_bytes
from sandbox.leases import leases_folder
from sandbox.locks import take
from sandbox.settings import SandboxSettings
from sandbox.share import share_of, usable_cpus, usable_memory
from state.clock import SystemClock
from state.errors import BotError
from state.store import Store

_LITTLE = 2 * 1024**3


def check_share(settings: SandboxSettings, out: Path, slots: int) -> Check:
    """Report what one script may use of the machine, and compare it with what the machine has.

    Args:
        settings: the table `[sandbox]`.
        out: folder that runs are written to.
        slots: scripts that the daemon runs at a time.
    """
    share, total = share_of(settings, out, parallel=slots), usable_memory()
    found = (
        f"a script may use {share.memory_bytes / 1024**3:.1f} of {total / 1024**3:.1f} GiB of memory, write "
        f"{share.written_bytes / 1e9:.0f} GB, and has {share.cpus} of {usable_cpus()} cores"
    )
    if share.memory_bytes * slots > total:
        return Check("machine", "warning", found, "set memory_gb under [sandbox] to what the machine has")
    if share.memory_bytes < _LITTLE:
        return Check("machine", "warning", found, "most libraries for machine learning need 2 GiB or more")
    return Check("machine", "ok", found)


def check_disk(out: Path, settings: DiskSettings) -> Check:
    """Compare the free space where runs are written with what a run needs."""
    free = free_bytes(out) / 1e9
    found = f"{free:.1f} GB free for {out}"
    if free >= settings.free_gb:
        return Check("disk", "ok", found)
    return Check("disk", "fails", found, f"a run starts with {settings.free_gb:g} GB or more: bot prune {out}")


def check_database(out: Path) -> Check:
    """Create a database where runs are written, and remove it."""
    there = nearest(out.absolute())
    try:
        with tempfile.TemporaryDirectory(prefix=".bot-doctor-", dir=there) as folder:
            Store.open(Path(folder) / "state.db", SystemClock()).close()
    except (OSError, SQLAlchemyError, BotError) as error:
        return Check(
            "database", "fails", f"none can be created in {there}: {error}", f"make {there} writable, on a local disk"
        )
    return Check("database", "ok", f"SQLite works in {there}")


def check_leases() -> Check:
    """Take and release a lock in the folder of all the machine's leases."""
    try:
        folder = leases_folder()
        lock = take(folder / f"doctor-{os.getpid()}")
        if lock:
            lock.release(remove=True)
    except OSError as error:
        return Check("leases", "fails", str(error), "set BOT_LEASES to a writable folder on a local disk")
    return Check("leases", "ok", f"of cores and GPUs, in {folder}")
