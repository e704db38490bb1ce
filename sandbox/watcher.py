"""The watcher of an execution: measures what its processes hold and have written, and compares that with the limits."""

import contextlib
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from sandbox import Breach, ExitReason, Limits, ResourceUsage
from sandbox.disk import DEEPEST, DiskUsage, folder_usage
from sandbox.memory import TmpfsUsage, UnlinkedFiles, exact_memory, resident_memory, unlinked_files
from sandbox.tree import ProcessTree

_SLACK = DiskUsage(1024**2, 100)
"""By so much what is tolerated may grow: who removes files writes a little, too."""
_MOST_BYTES = 1 << 62
_MOST_FILES = 1_000_000
_DUTY = 4
"""Measuring may take a quarter of the time: the pause after it is at least three times as long as it took."""


@dataclass(frozen=True)
class Reserve:
    """Resources to leave on the machine: a script may hold some memory and disk that nobody can see."""

    memory_bytes: int = min(psutil.virtual_memory().total // 32, 512 * 1024**2)
    disk_bytes: int = 256 * 1024**2


class Watcher:
    """Compares what one execution uses with its limits."""

    def __init__(
        self, limits: Limits, folders: Sequence[Path], reserve: Reserve | None = None, *, duty: int = _DUTY
    ) -> None:
        """Take the limits, and the folders that the script writes to, its working folder first.

        `reserve` is left on the machine. Measuring what was written may take one of `duty` parts of the time.
        """
        self._duty = duty
        self._limits = limits
        self._reserve = reserve or Reserve()
        self._folders = folders
        self._device = folders[0].stat().st_dev
        self._free = self._free_disk()
        self._unlinked = UnlinkedFiles()
        self._disk_due = 0.0
        self._allowed = DiskUsage(limits.written_bytes, limits.files)
        self._began = time.monotonic()
        self.written_bytes = 0
        """Bytes in the folders and in open files without a name, as last measured."""
        self.cpu_seconds = 0.0
        """CPU time of all processes seen so far; an ended one counts with its last value."""
        self._cpu: dict[tuple[int, float], float] = {}
        self._memory_bytes = 0
        self.peak_memory = 0
        """Largest number of bytes seen."""

    def check(self, tree: ProcessTree) -> tuple[ResourceUsage, Breach | None]:
        """Measure once; return the usage, and the exceeded limit, if any."""
        members = tree.members()
        tmpfs = tree.tmpfs()
        breach = self._processes(members) or self._memory(members, tmpfs) or self.check_written(members, tmpfs)
        breach = breach or self._exhausted()
        self._add_cpu(members)
        usage = ResourceUsage(
            time.monotonic() - self._began,
            self.cpu_seconds,
            self._memory_bytes,
            self.written_bytes,
            processes=len(members),
        )
        return usage, breach

    def _add_cpu(self, members: Sequence[psutil.Process]) -> None:
        for member in members:
            with contextlib.suppress(psutil.Error):
                times = member.cpu_times()
                self._cpu[member.pid, member.create_time()] = times.user + times.system
        self.cpu_seconds = sum(self._cpu.values())

    def check_disk(self, unlinked: UnlinkedFiles | None = None, tmpfs_files: int = 0) -> Breach | None:
        """Measure the folders alone, as after the end."""
        usage = self._disk_usage(self._allowed.files) + DiskUsage(unlinked.disk_bytes if unlinked else 0, tmpfs_files)
        self._allow(usage, self._allowed)
        self.written_bytes = usage.bytes
        if usage.too_deep:
            return Breach(ExitReason.DISK_LIMIT, f"It created folders nested more than {DEEPEST} levels deep.")
        if usage.bytes > self._allowed.bytes:
            return Breach(ExitReason.DISK_LIMIT, f"It wrote more than {self._limits.written_bytes} bytes of files.")
        if usage.files > self._allowed.files:
            return Breach(ExitReason.DISK_LIMIT, f"It created more than {self._limits.files} files.")
        free = self._free_disk()
        if free < self._reserve.disk_bytes and self._free - free > self._limits.written_bytes:
            detail = f"Only {free} bytes are free on its disk, {self._free - free} fewer than at the start."
            return Breach(ExitReason.DISK_LIMIT, detail)
        return None

    def tolerate(self) -> None:
        """Allow what lies in the folders now, should it be too much, but no more; and less as soon as there is less."""
        usage = self._disk_usage(_MOST_FILES)
        self._allow(usage, DiskUsage(_MOST_BYTES, _MOST_FILES))
        self.written_bytes, self._disk_due = usage.bytes, 0.0

    def overfull(self) -> bool:
        """Whether more lies in the folders than the limit, which was tolerated; measured again only if it was so last."""
        if self.written_bytes > self._limits.written_bytes:
            self.written_bytes = self._disk_usage(_MOST_FILES).bytes
        return self.written_bytes > self._limits.written_bytes

    def _disk_usage(self, enough_files: int) -> DiskUsage:
        return sum((folder_usage(folder, enough_files=enough_files) for folder in self._folders), DiskUsage())

    def _allow(self, usage: DiskUsage, at_most: DiskUsage) -> None:
        size = max(self._limits.written_bytes, usage.bytes + _SLACK.bytes)
        files = max(self._limits.files, usage.files + _SLACK.files)
        self._allowed = DiskUsage(min(size, at_most.bytes), min(files, at_most.files))

    def _free_disk(self) -> int:
        try:
            return shutil.disk_usage(self._folders[0]).free
        except FileNotFoundError:
            return self._free  # it has removed its own working folder

    def _exhausted(self) -> Breach | None:
        """Return a breach if the machine has hardly any memory left: better that the script ends than another program."""
        available = psutil.virtual_memory().available
        if available >= self._reserve.memory_bytes:
            return None
        detail = f"The machine has only {available} bytes of memory left; the execution's processes use {self._memory_bytes}."
        return Breach(ExitReason.OUT_OF_MEMORY, detail)

    def _processes(self, members: Sequence[psutil.Process]) -> Breach | None:
        tasks = len(members)
        if tasks <= self._limits.processes:
            tasks = sum(_threads(member) for member in members)
        if tasks <= self._limits.processes:
            return None
        detail = f"It ran more than {self._limits.processes} processes and threads at once."
        return Breach(ExitReason.PROCESS_LIMIT, detail)

    def _memory(self, members: Sequence[psutil.Process], tmpfs: TmpfsUsage) -> Breach | None:
        file_backed = tmpfs.bytes + self._unlinked.memory_bytes
        used_bytes = resident_memory(members) + file_backed
        if used_bytes > self._limits.memory_bytes:
            used_bytes = exact_memory(members, file_backed)
        self._memory_bytes = used_bytes
        self.peak_memory = max(self.peak_memory, used_bytes)
        if used_bytes <= self._limits.memory_bytes:
            return None
        detail = f"Its processes and in-memory files use {used_bytes} bytes of memory; the limit is {self._limits.memory_bytes}."
        return Breach(ExitReason.OUT_OF_MEMORY, detail)

    def check_written(self, members: Sequence[psutil.Process] = (), tmpfs: TmpfsUsage | None = None) -> Breach | None:
        """Measure what has been written, not more often than its share of the time allows."""
        tmpfs = tmpfs or TmpfsUsage()
        start = time.monotonic()
        if start < self._disk_due:
            return None
        self._unlinked = unlinked_files(members, self._device, tmpfs.devices)
        breach = self.check_disk(self._unlinked, tmpfs.files)
        end = time.monotonic()
        self._disk_due = end + (self._duty - 1) * (end - start)
        return breach


def _threads(process: psutil.Process) -> int:
    try:
        return process.num_threads()
    except psutil.Error:
        return 0
