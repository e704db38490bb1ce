"""Scores of a competition's own `grade.py`, from a child process that stays open for many submissions."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from state.errors import Problem, SnapshotError

_CHILD = Path(__file__).with_name("grade_calls_child.py")
_SECONDS = 600.0
_MEMORY = 8 * 1024**3
_ENVIRONMENT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH")


@dataclass(frozen=True)
class Graded:
    """What `grade.py` made of one submission: a score, or None and why there is none."""

    score: float | None
    fault: str | None = None


GradeCall = Callable[[Path], Graded]
"""Scores one submission file."""


@contextlib.contextmanager
def grader_of(grade_py: Path, answers: Path) -> Iterator[GradeCall]:
    """Start a child with a grader and its answers (`.csv` or `.jsonl`), and end it with all its children.

    Raises:
        SnapshotError: `grade.py` or the answers cannot be loaded, or the process died or took too long; by the block too.
    """
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    environment |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    with tempfile.TemporaryDirectory(prefix="grade-") as folder, tempfile.TemporaryFile() as said:
        child = subprocess.Popen(
            [sys.executable, "-P", str(_CHILD), str(grade_py.resolve()), str(answers.resolve()), str(_MEMORY)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
        asking = _Asking(child, said)
        try:
            asking.answer()
            yield asking
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.communicate()


class _Asking:
    """Sends a path a line, and reads an answer a line."""

    def __init__(self, child: "subprocess.Popen[bytes]", said: IO[bytes]) -> None:
        self._child, self._said = child, said

    def __call__(self, submission: Path) -> Graded:
        if self._child.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._child.stdin.write(f"{json.dumps(str(submission.resolve()))}\n".encode())
                self._child.stdin.flush()
        return self.answer()

    def answer(self) -> Graded:
        """Return the next answer; a child that is silent for too long is killed, which ends the wait."""
        stop = threading.Timer(_SECONDS, self._child.kill)
        stop.start()
        try:
            line = self._child.stdout.readline() if self._child.stdout is not None else b""
        finally:
            stop.cancel()
        if not line.endswith(b"\n"):
            self._said.seek(0)
            last = self._said.read().decode(errors="replace").strip().rsplit("\n", 1)[-1]
            raise SnapshotError(
                [Problem("grade.py", None, f"its process ended without an answer: {last or 'silently'}")]
            )
        reply = json.loads(line)
        if "broken" in reply:
            raise SnapshotError([Problem("grade.py", None, f"cannot be used: {reply['broken']}")])
        return Graded(reply["score"], reply["fault"])
