"""The default limits of one script: the machine's resources, less a reserve, shared among scripts that run at a time."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from sandbox.settings import SandboxSettings

_GIB = 1024**3
_RESERVE = (2 * _GIB, 8 * _GIB)
"""Least and most memory that is kept for the bot, its evaluator and the system; an eighth in between."""
_CGROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Share:
    """The resources of one script."""

    cpus: int
    memory_bytes: int
    written_bytes: int


def share_of(settings: SandboxSettings, out: Path, *, parallel: int, cpus: int | None = None) -> Share:
    """Return the resources of one script.

    The owner's values for memory and disk go before the machine's share; `out` is on the disk that is shared by
    `parallel` scripts at a time. Cores None: all, shared.
    """
    usable, total = usable_cpus(), usable_memory()
    reserve = min(max(_RESERVE[0], total // 8), _RESERVE[1], total // 2)
    memory = (total - reserve) // parallel if settings.memory_gb is None else int(settings.memory_gb * _GIB)
    folder_there = next(folder for folder in (out.absolute(), *out.absolute().parents) if folder.exists())
    half = shutil.disk_usage(folder_there).free // 2
    disk_bytes = half // parallel if settings.disk_gb is None else int(settings.disk_gb * 1e9)
    return Share(min(cpus or max(1, usable // parallel), usable), memory, disk_bytes)


def usable_cpus(cgroups: Path = _CGROUPS) -> int:
    """Return how many cores this process may keep busy: its affinity, and the quota of its control groups."""
    count = len(os.sched_getaffinity(0))
    for folder in _own_cgroups(cgroups, "cpu"):
        old = (*_words(folder / "cpu.cfs_quota_us"), *_words(folder / "cpu.cfs_period_us"))
        for words in (_words(folder / "cpu.max"), old):
            if len(words) == 2 and words[0].isdecimal():  # not "max", nor -1
                count = min(count, max(1, int(words[0]) // int(words[1])))
    return count


def usable_memory(cgroups: Path = _CGROUPS) -> int:
    """Return the bytes of memory that this machine has, or less where its control groups allow less."""
    total = psutil.virtual_memory().total
    for folder in _own_cgroups(cgroups, "memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            total = min([total, *(int(word) for word in _words(folder / name) if word.isdecimal())])
    return total


def _own_cgroups(root: Path, controller: str) -> Iterator[Path]:
    """Yield the folders that limit this process, of either version; in a container the root may itself be one of them."""
    lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    for _, controllers, path in (line.split(":", 2) for line in lines):
        if controllers and controller not in controllers.split(","):
            continue
        top = root / controllers if controllers else root
        group = top / path.lstrip("/")
        yield from (folder for folder in (group, *group.parents) if folder.is_relative_to(top))


def _words(file: Path) -> tuple[str, ...]:
    try:
        return tuple(file.read_text(encoding="utf-8").split())
    except OSError:
        return ()
