"""How a program is started: in a session of its own, with no descriptor of ours, under the kernel's own limits."""

import os
import resource
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox import Limits

__all__ = [
    "Launch",
    "choose_cpus",
    "ended_with_us",
    "shell_command",
    "under_limits",
]

_OPEN_FILES = 4096
_STACKS = 256 * 1024**2
"""Room for thread stacks, which count as data though they are hardly touched."""

_FILE_SLACK = 1024**2
"""A file may grow so much beyond the limit on all files, for the watcher to see which limit it was."""
_TASK_SLACK = 16
"""The same for processes and threads."""


@dataclass(frozen=True)
class Launch:
    """A command and what it starts with."""

    argv: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    cpus: Sequence[int]
    """Numbers of cores; it cannot be moved to others where the filter of system calls forbids that."""
    descriptors: Sequence[int] = ()


def shell_command(argv: Sequence[str], limits: str = "", *, first_process: bool = False) -> list[str]:
    """Return a shell's command that runs this one with its stderr in its stdout; what goes wrong before stays on stderr.

    Args:
        argv: The command.
        limits: What the shell does first (see `under_limits`).
        first_process: Whether the shell is the first process of its namespace and stays: it reaps orphans, and the script
            would be a poor first process, to which most signals mean nothing.
    """
    command = f"{shlex.join(argv)}; exit $?" if first_process else f"exec {shlex.join(argv)}"
    return ["/bin/sh", "-c", f"{limits}exec 2>&1 </dev/null; {command}"]


def ended_with_us(argv: Sequence[str]) -> list[str]:
    """Return the command so that the kernel kills it when the thread that started it is gone, as when we are killed."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig=KILL", *argv] if setpriv else list(argv)


def choose_cpus(count: int, turn: int) -> tuple[int, ...]:
    """Return the cores that an execution may use: `count` of ours, others at each turn."""
    ours = sorted(os.sched_getaffinity(0))
    count = max(1, min(count, len(ours)))
    return tuple(sorted(ours[(turn * count + i) % len(ours)] for i in range(count)))


def under_limits(limits: Limits, *, count_tasks: bool = False, on_gpu: bool = False) -> str:
    """Return what a POSIX shell does to set the kernel's own limits, or else to end.

    There is no limit on address space: threaded libraries reserve much that they never use. Private writable memory
    (RLIMIT_DATA) is what counts, and gives the script a MemoryError where the watcher could only kill it.

    Args:
        limits: What is allowed.
        count_tasks: Whether the kernel shall hold the limit on processes; of no use where the bot's own count too.
        on_gpu: Whether it may use a GPU: CUDA reserves far more memory than it uses, so that only the watcher can tell.
    """
    steps = [
        f"ulimit -c {_lowered(resource.RLIMIT_CORE, 0)}",
        f"ulimit -n {_lowered(resource.RLIMIT_NOFILE, _OPEN_FILES)}",
        f"ulimit -f {-(-_lowered(resource.RLIMIT_FSIZE, limits.written_bytes + _FILE_SLACK) // 512)}",
    ]
    if not on_gpu:
        steps.append(f"ulimit -d {_lowered(resource.RLIMIT_DATA, limits.memory_bytes + _STACKS) // 1024}")
    if count_tasks:
        count = _lowered(resource.RLIMIT_NPROC, limits.processes + _TASK_SLACK)
        steps.append(f"{{ ulimit -u {count} || ulimit -p {count}; }} 2>/dev/null")  # bash and others, dash
    return "".join(f"{step} || exit 125; " for step in steps)


def _lowered(kind: int, value: int) -> int:
    """Return a limit, which may lower ours but not raise it."""
    _, ours = resource.getrlimit(kind)
    return value if ours == resource.RLIM_INFINITY else min(value, ours)
