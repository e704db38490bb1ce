"""Checks of the machine: Python, memory, control groups, disk, database, leases."""

import os
import platform
import sys
import tempfile
from pathlib import Path

import psutil
from sqlalchemy.exc import SQLAlchemyError

from bot.doctor import Check
from bot.runs.disk import DiskSettings, free_bytes
from sandbox import Limits
from sandbox.leases import leases_folder
from sandbox.locks import take
from state.clock import SystemClock
from state.errors import BotError
from state.store import Store

_OLDEST = (3, 11)


def check_python() -> Check:
    """Look at the version of Python."""
    version = platform.python_version()
    if sys.version_info >= _OLDEST:
        return Check("Python", "ok", f"{version} in {sys.prefix}")
    return Check("Python", "fails", version, "install Python 3.11 or later")


def check_memory() -> Check:
    """Compare the machine's memory with what one execution may use."""
    total, wanted = psutil.virtual_memory().total, Limits(1).memory_bytes
    found = f"{total / 1024**3:.1f} GiB, {len(os.sched_getaffinity(0))} cores"
    if total >= wanted:
        return Check("memory", "ok", found)
    mend = f"an execution may use {wanted / 1024**3:.0f} GiB: larger scripts end when the machine has no more"
    return Check("memory", "warning", found, mend)


def check_cgroups(root: Path = Path("/sys/fs/cgroup")) -> Check:
    """Say which control groups there are; a Docker engine needs them, the other back ends do without."""
    controllers = root / "cgroup.controllers"
    if controllers.is_file():
        return Check("control groups", "ok", f"v2 with {controllers.read_text(encoding='utf-8').strip() or 'none'}")
    if (root / "memory").is_dir():
        return Check("control groups", "ok", "v1")
    mend = "a Docker engine needs them: mount them (Debian package cgroupfs-mount); bubblewrap does without"
    return Check("control groups", "warning", f"none in {root}", mend)


def check_disk(out: Path, settings: DiskSettings) -> Check:
    """Compare what is free where runs are written with what a run wants."""
    free = free_bytes(out) / 1e9
    found = f"{free:.1f} GB free for {out}"
    if free >= settings.free_gb:
        return Check("disk", "ok", found)
    return Check("disk", "fails", found, f"a run starts with {settings.free_gb:g} GB or more: bot prune {out}")


def check_database(out: Path) -> Check:
    """Make a database where runs are written, and remove it."""
    there = out.absolute()
    while not there.exists():
        there = there.parent
    try:
        with tempfile.TemporaryDirectory(prefix=".bot-doctor-", dir=there) as folder:
            Store.open(Path(folder) / "state.db", SystemClock()).close()
    except (OSError, SQLAlchemyError, BotError) as error:
        return Check(
            "database", "fails", f"none can be made in {there}: {error}", f"make {there} writable, on a local disk"
        )
    return Check("database", "ok", f"SQLite works in {there}")


def check_leases() -> Check:
    """Take and give back a lock where all bots of the machine have theirs."""
    try:
        folder = leases_folder()
        lock = take(folder / f"doctor-{os.getpid()}")
        if lock:
            lock.release(remove=True)
    except OSError as error:
        return Check("leases", "fails", str(error), "set BOT_LEASES to a folder on a local disk that may be written")
    return Check("leases", "ok", f"of cores and GPUs, in {folder}")
