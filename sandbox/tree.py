"""Which processes belong to an execution, and how to end all of them."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import psutil

from sandbox.memory import TmpfsUsage, tmpfs_inside

MARKER = "BOT_EXECUTION"
"""Environment variable by which a process is recognized after it has left its parents."""

_ROUNDS = 100
_PROC = Path("/proc")
_LISTS_CHILDREN = Path("/proc/thread-self/children").exists()
"""Whether this kernel lists them (CONFIG_PROC_CHILDREN)."""


class ProcessTree(Protocol):
    """The processes of one execution."""

    def members(self) -> list[psutil.Process]:
        """Return those alive now, without the engine's own."""

    def tmpfs(self) -> TmpfsUsage:
        """Measure the file systems in memory that belong to the execution alone."""

    def kill(self) -> None:
        """Kill all of them; the engine's own process then ends by itself or is killed too."""


class NamespaceTree:
    """All processes below bwrap: when the first one inside dies, all others of its namespace die with it.

    bwrap waits for that one, which is a shell or a process of bwrap's own, and whose end waits for all others.
    """

    def __init__(self, pid: int, mounts: Sequence[str]) -> None:
        """Take bwrap's process id, and the paths of its tmpfs mounts inside."""
        self._pid = pid
        self._mounts = mounts

    def members(self) -> list[psutil.Process]:
        """Return all processes below bwrap's first one inside, which adopts orphans."""
        return [member for first in _children(self._pid) for member in _children(first.pid, recursive=True)]

    def tmpfs(self) -> TmpfsUsage:
        """Measure the mounts as the first process inside sees them."""
        first = next((child.pid for child in _children(self._pid)), None)
        return TmpfsUsage() if first is None else tmpfs_inside(first, self._mounts)

    def kill(self) -> None:
        """Kill the first process inside; bwrap itself only if there is none, since it must outlive the others."""
        for _ in range(_ROUNDS):
            children = _children(self._pid)
            if not children:
                break
            for child in children:
                with contextlib.suppress(psutil.Error):
                    child.kill()
            psutil.wait_procs(children, timeout=0.05)
        if not _ended(self._pid):
            _signal(os.kill, self._pid, signal.SIGKILL)


class MarkedTree:
    """A process, its descendants, and all that carry its marker in their environment."""

    def __init__(self, pid: int, mark: str) -> None:
        """Take the leader of the process group, and the marker's value."""
        self._pid = pid
        self._mark = mark
        self._strangers: set[tuple[int, float]] = set()
        self._known: dict[tuple[int, float], psutil.Process] = {}

    def members(self) -> list[psutil.Process]:
        """Return the process and its descendants, including those moved to another parent by a double fork."""
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                self._classify(process)
        for member in list(self._known.values()):
            for child in _children(member.pid, recursive=True):
                with contextlib.suppress(psutil.Error):
                    self._known.setdefault((child.pid, child.create_time()), child)
        self._known = {key: process for key, process in self._known.items() if _alive(process)}
        return list(self._known.values())

    def tmpfs(self) -> TmpfsUsage:
        """Return nothing: it has none of its own."""
        return TmpfsUsage()

    def kill(self) -> None:
        """Kill the group, then processes that left it."""
        _signal(os.killpg, self._pid, signal.SIGKILL)
        kill_all(self.members)

    def _classify(self, process: psutil.Process) -> None:
        key = (process.pid, process.create_time())
        if key in self._known or key in self._strangers:
            return
        if process.pid == self._pid or process.environ().get(MARKER) == self._mark:
            self._known[key] = process
        else:
            self._strangers.add(key)


def kill_all(find: Callable[[], Sequence[psutil.Process]]) -> int:
    """Kill processes until none is found, stopping them first, so that none forks; return how many there were."""
    killed: set[int] = set()
    for _ in range(_ROUNDS):
        members = find()
        if not members:
            break
        killed |= {member.pid for member in members}
        for sign in (signal.SIGSTOP, signal.SIGKILL):
            for member in members:
                with contextlib.suppress(psutil.Error):
                    member.send_signal(sign)
        time.sleep(0.01)  # death is not instant, and nothing reports that of a process that is not our child
    return len(killed)


def stop_all(find: Callable[[], Sequence[psutil.Process]]) -> None:
    """Stop processes until no other is found, as they may fork meanwhile."""
    stopped: set[psutil.Process] = set()
    for _ in range(_ROUNDS):
        new = set(find()) - stopped
        if not new:
            return
        for member in new:
            with contextlib.suppress(psutil.Error):
                member.suspend()
        stopped |= new


def _children(pid: int, *, recursive: bool = False) -> list[psutil.Process]:
    """Return the children of a process; psutil would read the whole of /proc for it, several times a second."""
    if not _LISTS_CHILDREN:
        try:
            return psutil.Process(pid).children(recursive=recursive)
        except psutil.Error:
            return []
    processes: dict[int, psutil.Process] = {}
    parents = [pid]
    while parents:
        for child in _child_ids(parents.pop()):
            with contextlib.suppress(psutil.Error):
                if child not in processes:
                    processes[child] = psutil.Process(child)
                    parents += [child] if recursive else []
    return list(processes.values())


def _child_ids(pid: int) -> list[int]:
    """Return the process ids of the children as the kernel lists them, which may miss one while others end."""
    ids: list[int] = []
    with contextlib.suppress(OSError):  # it is gone, or one of its threads is
        for task in (_PROC / str(pid) / "task").iterdir():
            ids += map(int, (task / "children").read_text().split())
    return ids


def _alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _ended(pid: int) -> bool:
    try:
        return not _alive(psutil.Process(pid))
    except psutil.Error:
        return True


def _signal(send: Callable[[int, int], None], target: int, sign: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        send(target, sign)
