"""What lies in the file systems in memory that an execution has of its own."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["TmpfsUsage", "tmpfs_inside"]


@dataclass(frozen=True)
class TmpfsUsage:
    """Bytes and files in them, and their devices."""

    bytes: int = 0
    files: int = 0
    devices: frozenset[int] = frozenset()


def tmpfs_inside(pid: int, mounts: Sequence[str]) -> TmpfsUsage:
    """Measure mounts of tmpfs in another mount namespace.

    Args:
        pid: A process of that namespace.
        mounts: Their paths as it sees them.
    """
    root = Path(f"/proc/{pid}/root")
    size = files = 0
    devices = set()
    try:
        # Until the process has changed its root, these paths are the host's own.
        if root.stat().st_dev == Path("/").stat().st_dev:
            return TmpfsUsage()
        for mount in mounts:
            path = root / mount.lstrip("/")
            usage = os.statvfs(path)
            size += (usage.f_blocks - usage.f_bfree) * usage.f_frsize
            files += usage.f_files - usage.f_ffree
            devices.add(path.stat().st_dev)
    except OSError:
        return TmpfsUsage()  # still being set up, or over
    return TmpfsUsage(size, files, frozenset(devices))
