"""The start of a grader's process: under bubblewrap if that works, else as a plain process with a clean environment."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from bot.evaluation.metrics import edit_distance
from sandbox.bubblewrap import bubblewrap_command
from sandbox.identity import choose_identity
from sandbox.instance import owner
from sandbox.launch import ended_with_us
from sandbox.mounts import CODE, TMPFS, WORK, visible_paths
from sandbox.tree import MARKER, MarkedTree, NamespaceTree, ProcessTree

_CHILD_CODE = Path(__file__).parent / "inside"
_SUBSTITUTES = {"Levenshtein.py": Path(edit_distance.__file__)}
"""Modules that graders of MLE-bench import and that are no dependency of the bot, for where they are not installed."""
_TMPFS_BYTES = 64 * 1024**2
_STDERR_BYTES = 2_000


@dataclass(frozen=True)
class GraderHandle:
    """A grader's process that was started."""

    process: subprocess.Popen[bytes]
    tree: ProcessTree
    contained: bool
    """Whether bubblewrap isolates it from the network and from all files but its own."""
    stderr: BinaryIO
    """Its standard error from before it discards its output."""

    def last_words(self) -> str:
        """Return the end of its standard error."""
        self.stderr.seek(0, os.SEEK_END)
        self.stderr.seek(max(0, self.stderr.tell() - _STDERR_BYTES))
        return self.stderr.read().decode("utf-8", "replace").strip()

    def end(self, seconds: float = 0.0) -> int:
        """Kill all its processes, if not done yet, after giving it some seconds to end by itself; return its exit status."""
        if not self.stderr.closed:
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(seconds)
            self.stderr.close()
            self.tree.kill()
        return self.process.wait()


def lay_out(folder: Path, grade_py: Path) -> None:
    """Make the two folders of a grader's process: `code` with grade.py and what it may import, and an empty `work`.

    Raises OSError: they cannot be copied.
    """
    code = folder / "code"
    shutil.copytree(_CHILD_CODE, code, ignore=shutil.ignore_patterns("__pycache__"))
    (code / "substitutes").mkdir()
    for name, module in _SUBSTITUTES.items():
        shutil.copyfile(module, code / "substitutes" / name)
    (code / "competition").mkdir()
    for module in grade_py.parent.glob("*.py"):
        shutil.copyfile(module, code / "competition" / module.name)
    shutil.copyfile(grade_py, code / "competition" / "grade.py")
    (folder / "work").mkdir()
    for path in (code, *code.rglob("*")):  # whatever our umask: the grader may run as another user
        path.chmod(0o755 if path.is_dir() else 0o644)


def temporary_folder(stack: ExitStack) -> Path:
    """Return a folder that is removed with the stack; one left by a killed bot is found by its name."""
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=f"bot-{owner()}-", ignore_cleanup_errors=True)))


def can_contain() -> bool:
    """Whether bubblewrap's programs are installed; whether the kernel allows it shows at the start."""
    return all(shutil.which(tool) for tool in ("bwrap", *(["setpriv"] if choose_identity().changes_user else [])))


def start(folder: Path, channel: int, memory_bytes: int, processes: int, *, contained: bool) -> GraderHandle:
    """Start the process.

    The folder is laid out by `lay_out`. Memory counts as address space of each process; the limit of processes, threads
    included, is enforced by the kernel only if the grader is contained.

    Raises OSError: it cannot be started.
    """
    with ExitStack() as stack:
        if contained:
            identity = choose_identity(channel)
            command = [sys.executable, "-P", "-s", f"{CODE}/child.py"]
            command += [str(channel), str(memory_bytes), str(processes if identity.counted else 0)]
            argv, descriptors = bubblewrap_command(
                stack,
                command,
                identity,
                visible_paths(),
                writable={WORK: folder / "work"},
                readable={CODE: folder / "code"},
                start=WORK,
                tmpfs_bytes=_TMPFS_BYTES,
            )
            process, stderr = _popen(argv, _environment(TMPFS[0]), Path("/"), [channel, *descriptors])
            return GraderHandle(process, NamespaceTree(process.pid, TMPFS), True, stderr)
        mark = f"{owner()}.{folder.name}"
        argv = ended_with_us([sys.executable, "-P", "-s", str(folder / "code" / "child.py")])
        argv += [str(channel), str(memory_bytes), "0"]
        environment = {**_environment(str(folder / "work")), MARKER: mark}
        process, stderr = _popen(argv, environment, folder / "work", [channel])
        return GraderHandle(process, MarkedTree(process.pid, mark), False, stderr)


def _popen(
    argv: Sequence[str], environment: Mapping[str, str], folder: Path, descriptors: Sequence[int]
) -> tuple[subprocess.Popen[bytes], BinaryIO]:
    stderr: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the process is ended
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=stderr,
            stderr=stderr,
            env=dict(environment),
            cwd=folder,
            pass_fds=descriptors,
            start_new_session=True,
            umask=0o022,
        )
    except OSError:
        stderr.close()
        raise
    return process, stderr


def _environment(tmp: str) -> dict[str, str]:
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "LOKY_MAX_CPU_COUNT"), "1")
    python = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1", "PYTHONUTF8": "1"}
    paths = {"PATH": f"{Path(sys.prefix) / 'bin'}:/usr/local/bin:/usr/bin:/bin", "HOME": tmp, "TMPDIR": tmp}
    return {**paths, **python, **threads, "LANG": "C.UTF-8", "MPLBACKEND": "Agg"}
