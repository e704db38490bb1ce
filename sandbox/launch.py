"""The start of a script: a clean environment, its cores, and the kernel's own limits."""

import os
import resource
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

from sandbox import ExecutionRequest, Limits
from sandbox.gpu import library_folders

_OPEN_FILES = 4096
STACKS = 256 * 1024**2
"""Room for thread stacks, which count as data though they are hardly touched."""

FILE_SLACK = 1024**2
"""Bytes that a file may grow beyond the limit on all files, so that the watcher sees which limit was hit."""
TASK_SLACK = 16
"""The same for processes and threads."""
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMEXPR_MAX_THREADS",
    "LOKY_MAX_CPU_COUNT",
)


def path_of(python: Path) -> str:
    """Return the PATH on which this Python comes first."""
    return f"{python.parent}:/usr/local/bin:/usr/bin:/bin"


def clean_environment(request: ExecutionRequest, *, tmp: str, cpus: int, path: str) -> dict[str, str]:
    """Return the whole environment of a script.

    `tmp` is for temporary files and its home, as the script sees it. The request's own variables are added last.
    """
    seconds, gpus = request.wall_seconds, request.lease.gpus
    environment = base_environment(tmp=tmp, cpus=cpus, path=path, seconds=seconds, gpus=gpus)
    if request.idle:
        environment["BOT_CPU_LIMIT"] = _seconds(request.limits.seconds)
    return {**environment, "PYTHONSAFEPATH": "1", **request.environment}


def base_environment(*, tmp: str, cpus: int, path: str, seconds: float, gpus: Sequence[str]) -> dict[str, str]:
    """Return what every program finds in its environment; `seconds` is the time that it has."""
    environment = {
        "PATH": path,
        "HOME": tmp,
        "TMPDIR": tmp,
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNOUSERSITE": "1",
        "MPLBACKEND": "Agg",
        "HF_HUB_OFFLINE": "1",
        "BOT_TIME_LIMIT": _seconds(seconds),
        "BOT_CPUS": str(cpus),
        "BOT_GPUS": str(len(gpus)),
        "CUDA_VISIBLE_DEVICES": ",".join(gpus),
    }
    environment.update(dict.fromkeys(_THREAD_VARIABLES, str(cpus)))
    if gpus and (libraries := library_folders()):
        environment["LD_LIBRARY_PATH"] = ":".join(map(str, libraries))
    return environment


def shell_command(
    argv: Sequence[str], limits: str = "", *, first_process: bool = False, talks: bool = False
) -> list[str]:
    """Return a shell's command that runs this one with its stderr in its stdout; errors before its start stay on stderr.

    The shell runs `limits` first (see `under_limits`). As `first_process` of its namespace it stays and reaps orphans;
    the script itself would be a poor one, as that ignores most signals. `talks`: the command is ours, and keeps its
    stdin and its stderr.
    """
    command = f"{shlex.join(argv)}; exit $?" if first_process else f"exec {shlex.join(argv)}"
    return ["/bin/sh", "-c", f"{limits}{'' if talks else 'exec 2>&1 </dev/null; '}{command}"]


def ended_with_us(argv: Sequence[str]) -> list[str]:
    """Return the command so that the kernel kills it when the thread that started it is gone, as when we are killed."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig=KILL", *argv] if setpriv else list(argv)


def choose_cpus(count: int, turn: int) -> tuple[int, ...]:
    """Return the cores that an execution may use: `count` of ours, different ones at each turn."""
    cores = sorted(os.sched_getaffinity(0))
    count = max(1, min(count, len(cores)))
    return tuple(sorted(cores[(turn * count + i) % len(cores)] for i in range(count)))


def under_limits(limits: Limits, *, count_tasks: bool = False, on_gpu: bool = False) -> str:
    """Return the commands by which a POSIX shell sets the kernel's own limits, or ends.

    There is no limit on address space: threaded libraries reserve much that they never use. Private writable memory
    (RLIMIT_DATA) is limited instead, which gives the script a MemoryError where the watcher could only kill it.

    `count_tasks`: the kernel enforces the limit on processes; useless if the bot's own processes count too. `on_gpu`:
    CUDA reserves far more memory than it uses, so only the watcher can measure it.
    """
    steps = [
        f"ulimit -c {_lowered(resource.RLIMIT_CORE, 0)}",
        f"ulimit -n {_lowered(resource.RLIMIT_NOFILE, _OPEN_FILES)}",
        f"ulimit -f {-(-_lowered(resource.RLIMIT_FSIZE, limits.written_bytes + FILE_SLACK) // 512)}",
    ]
    if not on_gpu:
        steps.append(f"ulimit -d {_lowered(resource.RLIMIT_DATA, limits.memory_bytes + STACKS) // 1024}")
    if count_tasks:
        count = _lowered(resource.RLIMIT_NPROC, limits.processes + TASK_SLACK)
        steps.append(f"{{ ulimit -u {count} || ulimit -p {count}; }} 2>/dev/null")  # bash and others, dash
    return "".join(f"{step} || exit 125; " for step in steps)


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}".rstrip("0").rstrip(".")


def _lowered(kind: int, value: int) -> int:
    """Return a limit, which may lower ours but not raise it."""
    _, hard_limit = resource.getrlimit(kind)
    return value if hard_limit == resource.RLIM_INFINITY else min(value, hard_limit)
