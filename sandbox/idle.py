"""The priority of idle executions: they run on processor time that nothing else wants, and can still be ended at once."""

import contextlib
import ctypes
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import psutil

from sandbox.memory import TmpfsUsage
from sandbox.tree import ProcessTree

IDLE_SHARES = 2
"""Weight of an idle execution's container, the least that the kernel takes; others have `USUAL_SHARES`."""
USUAL_SHARES = 1024
_USUAL_NICE, _LEAST_NICE = 0, 19
_TRIES = 100
_PROCESS_MRELEASE = 448
"""The number of a system call, the same on all architectures; kernels before 5.15 lack it."""


def idle_command(argv: Sequence[str]) -> list[str]:
    """Return the command so that it and all that it starts run under SCHED_IDLE, which only a privileged user can leave."""
    chrt = shutil.which("chrt")
    return [chrt, "--idle", "0", *argv] if chrt else list(argv)


def until_light() -> str:
    """Return the commands by which a POSIX shell waits until its session weighs as little as possible, or for a while."""
    heavy = f'[ $tries -lt {_TRIES} ] && read -r _ _ nice </proc/self/autogroup && [ "$nice" != {_LEAST_NICE} ]'
    loop = f"tries=0; while {heavy}; do sleep 0.05; tries=$((tries + 1)); done"
    return f"if [ -r /proc/self/autogroup ]; then {loop}; fi; "


class IdleTree:
    """The processes of an idle execution, each session of which weighs as little as possible.

    The kernel shares a core among sessions first (`/proc/<pid>/autogroup`), and only then among a session's processes: there
    SCHED_IDLE alone would still get half of a core beside another session.
    """

    def __init__(self, tree: ProcessTree) -> None:
        self._tree = tree

    def members(self) -> list[psutil.Process]:
        """Return those alive now; sessions that are new get the least weight."""
        members = self._tree.members()
        for member in members:
            _weigh_session(member.pid, _LEAST_NICE)
        return members

    def tmpfs(self) -> TmpfsUsage:
        """Measure the file systems in memory that belong to the execution alone."""
        return self._tree.tmpfs()

    def kill(self) -> None:
        """Kill all of them.

        Beside a busy command their deaths would take minutes, as each must give back its memory in its own time: so
        their sessions weigh as much as others again, and the memory is given back in ours.
        """
        with contextlib.ExitStack() as stack:
            dying = []
            for member in self._tree.members():
                _weigh_session(member.pid, _USUAL_NICE)
                with contextlib.suppress(OSError, psutil.Error):
                    dying.append(os.pidfd_open(member.pid))
                    stack.callback(os.close, dying[-1])
                    member.kill()
            for process in dying:
                ctypes.CDLL(None).syscall(_PROCESS_MRELEASE, process, 0)
        self._tree.kill()


def _weigh_session(pid: int, nice: int) -> None:
    """Set the weight of a process's session among all sessions.

    Nothing happens where the kernel does not tell sessions apart, and if others were weighed a moment ago, as an ordinary
    user may do that ten times a second: the next measurement comes soon.
    """
    path = Path(f"/proc/{pid}/autogroup")
    with contextlib.suppress(OSError):
        if path.read_text().split()[-1:] not in ([], [str(nice)]):
            path.write_text(str(nice))
