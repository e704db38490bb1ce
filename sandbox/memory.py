"""Memory that a set of processes holds, files in memory included, without counting what they share more than once."""

import os
import stat
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

_PROC = Path("/proc")


@dataclass(frozen=True)
class UnlinkedFiles:
    """Open files without a name: no folder shows them, and they occupy space until they are closed."""

    disk_bytes: int = 0
    memory_bytes: int = 0
    """Those in memory: memfd_create, and /dev/shm of the host."""


def resident_memory(members: Iterable[psutil.Process]) -> int:
    """Return the sum of the resident sets in bytes: quick, and never too low but for swap and unmapped tmpfs."""
    total = 0
    for member in members:
        try:
            total += member.memory_info().rss
        except psutil.Error:
            continue
    return total


def exact_memory(members: Iterable[psutil.Process], file_backed: int) -> int:
    """Return the bytes that are really held: forked workers share their parent's pages, which count once.

    Each page is divided by its number of users (`smaps_rollup`). Mapped files are left out, since the kernel can drop
    their pages; shared memory is either mapped or in tmpfs, mostly both, so the larger of the two counts.

    `file_backed` are the bytes in tmpfs and memfd.
    """
    private = shared = 0
    for member in members:
        parts = _rollup(member.pid)
        if parts is None:
            private += resident_memory([member])
            continue
        private += parts.get("Pss_Anon", 0) + parts.get("SwapPss", 0)
        shared += parts.get("Pss_Shmem", 0)
    return private + max(shared, file_backed)


def unlinked_files(
    members: Iterable[psutil.Process], work_device: int, counted_devices: Collection[int]
) -> UnlinkedFiles:
    """Measure the open files that have no name any more. `counted` are devices whose whole usage is measured otherwise."""
    sizes: dict[tuple[int, int], int] = {}
    for member in members:
        folder = _PROC / str(member.pid) / "fd"
        try:
            names = os.listdir(folder)  # noqa: PTH208 - names are enough, and there may be thousands
        except OSError:
            continue
        for name in names:
            try:
                status = os.stat(folder / name)  # noqa: PTH116 - it must follow the link, which leads to no path
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode) and status.st_nlink == 0 and status.st_dev not in counted_devices:
                sizes[status.st_dev, status.st_ino] = status.st_blocks * 512
    disk = sum(size for (device, _), size in sizes.items() if device == work_device)
    return UnlinkedFiles(disk, sum(sizes.values()) - disk)


@dataclass(frozen=True)
class TmpfsUsage:
    """Bytes and files in them, and their devices."""

    bytes: int = 0
    files: int = 0
    devices: frozenset[int] = frozenset()


def tmpfs_inside(pid: int, mounts: Sequence[str]) -> TmpfsUsage:
    """Measure mounts of tmpfs, by their paths as a process sees them that is in another mount namespace."""
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


def oom_kills() -> int:
    """Return how often this machine's kernel has killed for memory since it started; 0 where that is not known."""
    try:
        lines = (_PROC / "vmstat").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))


def _rollup(pid: int) -> dict[str, int] | None:
    """Return the bytes by name in a process's `smaps_rollup`, or none where the kernel has none."""
    try:
        lines = (_PROC / str(pid) / "smaps_rollup").read_text().splitlines()[1:]
    except OSError:
        return None
    parts = {name: int(amount.split()[0]) * 1024 for name, _, amount in (line.partition(":") for line in lines)}
    return parts if "Pss_Anon" in parts else None
