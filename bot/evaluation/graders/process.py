"""A competition's grade.py in a process of its own: kept open for many scores, under limits of time and memory."""

import json
import os
import socket
import time
import weakref
from array import array
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.evaluation.graders.launch import GraderHandle, can_contain, lay_out, start, temporary_folder
from state.errors import GraderFailed, GraderStopped, InfrastructureFailure, InvalidSubmission, Problem, SnapshotError

_MAX_SHOWN = 300
"""Characters of a grader's own words that are shown."""


def result_of(grade_py: Path, reply: dict[str, Any]) -> dict[str, Any]:
    """Return an answer that holds a result.

    Raises:
        InvalidSubmission: the grader refused the submission.
        GraderFailed: it raised something else.
        SnapshotError: it needs a module that is missing.
    """
    if "invalid" in reply:
        raise InvalidSubmission(f"The grader rejected the submission: {shorten(reply['invalid'])}")
    failed = reply.get("failed")
    if failed is None:
        return reply
    if failed["module"] is not None:
        raise unusable(grade_py, failed)
    raise GraderFailed(failed["kind"], shorten(failed["text"]), failed["line"])


def unusable(grade_py: Path, failed: dict[str, Any]) -> SnapshotError:
    """Return the error for a grade.py that cannot be used, whatever the submission."""
    name = f"{grade_py.parent.name}/{grade_py.name}"
    fault = f"cannot be loaded: {failed['kind']}: {shorten(failed['text'])}"
    if failed["module"] is not None:
        fault = f"needs {failed['module']!r}, which is not available: {shorten(failed['text'])}"
    return SnapshotError([Problem(name, failed["line"], fault)])


def parsed(message: bytes) -> dict[str, Any]:
    """Return an answer; anything else in the socket was written by the grader, and is not an answer."""
    try:
        reply = json.loads(message)
    except (ValueError, RecursionError):
        return {}
    return reply if isinstance(reply, dict) else {}


def shorten(text: object) -> str:
    """Return foreign words in one line of bounded length."""
    words = " ".join(str(text).split())
    return words if len(words) <= _MAX_SHOWN else f"{words[:_MAX_SHOWN]}…"


_MESSAGE = 1 << 16
_ENDING = 2.0
"""Seconds between the end of the conversation and that of the process."""
_NO_MEMORY = "MemoryError"
_STARTED, _READY = -1, 0
"""Numbers of the unsolicited messages: the process is ready; grade.py is loaded."""


@dataclass(frozen=True)
class GraderLimits:
    """The limits of a grader's process."""

    seconds: float = 240.0
    """Of one score, or of reading one file."""
    start_seconds: float = 240.0
    """Until pandas and grade.py are loaded."""
    memory_bytes: int = 4 * 1024**3
    """Of address space, of each of its processes; at most what this process itself may have."""
    processes: int = 32
    """Threads counted; held only under bubblewrap."""


@dataclass(frozen=True)
class Order:
    """The order for a table's rows and columns, so that graders that ignore ids are right too."""

    like: int
    """Handle of the table whose ids give the order of the rows."""
    columns: tuple[str, ...]


@dataclass(frozen=True)
class _File:
    path: Path
    key: tuple[str, ...]
    order: Order | None


class GraderProcess:
    """Runs `grade(submission, answers)` of a grade.py; it starts with the first use, and again after a close or a kill.

    Not safe for several threads. A file must stay as it is while its handle is in use.
    """

    def __init__(self, grade_py: Path, limits: GraderLimits | None = None, *, contain: bool = True) -> None:
        """Prepare; no process is started yet.

        The grader can import the modules beside it; it is contained by bubblewrap where that works.
        """
        self._grade_py = grade_py
        self._limits = limits or GraderLimits()
        self._contain = contain
        self._files: dict[int, _File] = {}
        self._loaded: dict[int, bool] = {}
        self._count = 0
        self._stack = ExitStack()
        weakref.finalize(self, self._stack.close)
        self._started: GraderHandle | None = None
        self._channel: socket.socket | None = None

    @property
    def contained(self) -> bool | None:
        """Whether the process is isolated from the network and from files; None while there is none."""
        return None if self._started is None else self._started.contained

    def load(self, path: Path, *, key: tuple[str, ...] = (), order: Order | None = None) -> int:
        """Register a file for later scores; it is read when a score first needs it, and again after a restart.

        It is CSV, or JSON Lines if it ends in `.jsonl`. Rows are put in the given order of the key columns if all ids are
        those of the other table.
        """
        self._count += 1
        self._files[self._count] = _File(path, key, order)
        return self._count

    def drop(self, handle: int) -> None:
        """Forget a file."""
        self._files.pop(handle, None)
        if self._loaded.pop(handle, None) is not None and self._channel is not None:
            self._ask({"do": "drop", "key": str(handle)})

    def ordered(self, handle: int) -> bool:
        """Return whether a table could be brought into its order. Raises as `score` does."""
        self._need(handle)
        return self._loaded[handle]

    def score(
        self, submission: int, answers: int, rows: Iterable[int] | None = None, donors: Iterable[int] | None = None
    ) -> float | None:
        """Return grade.py's score of a submission; None if it is not a finite number.

        Rows are numbers in both tables, None means all; in the place of each stand, but for the key, the cells of the
        submission's row in `donors`.

        Raises:
            InvalidSubmission: grade.py refuses the submission, or the file is no CSV.
            GraderFailed: grade.py failed in another way.
            GraderStopped: it took more than its limits, or its process ended.
            SnapshotError: grade.py itself cannot be used, whatever the submission is.
            InfrastructureFailure: no process can be started.
        """
        self._need(answers)
        self._need(submission)
        request: dict[str, Any] = {"do": "score", "submission": str(submission), "answers": str(answers)}
        request |= {"rows": rows is not None, "taken": donors is not None}
        if rows is None:
            reply = self._ask(request)
        else:
            descriptor = os.memfd_create("rows")
            try:
                with os.fdopen(os.dup(descriptor), "wb") as file:
                    for numbers in (rows, () if donors is None else donors):
                        array("q", numbers).tofile(file)
                os.lseek(descriptor, 0, os.SEEK_SET)
                reply = self._ask(request, descriptor)
            finally:
                os.close(descriptor)
        score = reply["score"]
        return None if score is None else float(score)

    def close(self) -> None:
        """End the process with all that it started; the handles stay good for the next one."""
        self._loaded.clear()
        self._channel = self._started = None
        self._stack.close()

    def _need(self, handle: int) -> None:
        """Have a file read, after the one whose order it takes."""
        if self._channel is not None and handle in self._loaded:
            return
        file = self._files[handle]
        if file.order is not None:
            self._need(file.order.like)
        request = {
            "do": "load",
            "key": str(handle),
            "lines": file.path.suffix.lower() == ".jsonl",
            "key_columns": list(file.key),
            "like": None if file.order is None else str(file.order.like),
            "columns": [] if file.order is None else list(file.order.columns),
        }
        try:
            descriptor = os.open(file.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise InvalidSubmission(f"{file.path.name} cannot be read: {error.strerror}.") from error
        try:
            reply = self._ask(request, descriptor)
        except GraderFailed as error:
            raise InvalidSubmission(f"{file.path.name} cannot be read as a table: {error}") from error
        finally:
            os.close(descriptor)
        self._loaded[handle] = bool(reply["aligned"])

    def _ask(self, request: dict[str, Any], *descriptors: int) -> dict[str, Any]:
        if self._channel is None:
            self._start()
        assert self._channel is not None  # noqa: S101 - for the type checker
        self._count += 1
        try:
            socket.send_fds(self._channel, [json.dumps({"n": self._count, **request}).encode()], descriptors)
            reply = self._receive(self._count, self._limits.seconds)
            if (failed := reply.get("failed")) and failed["kind"] == _NO_MEMORY:
                allowed = self._limits.memory_bytes / 1024**3
                raise GraderStopped(f"grade.py ran out of memory ({allowed:g} GiB allowed).")
        except ConnectionError as error:
            reason = self._how_it_ended()
            self.close()
            raise GraderStopped(reason) from error
        except BaseException:
            # After an interrupted exchange, the next answer would not belong to the next request.
            self.close()
            raise
        return result_of(self._grade_py, reply)

    def _receive(self, number: int, seconds: float) -> dict[str, Any]:
        """Return the answer with that number; earlier ones come from processes that a grader forked off."""
        channel = self._channel
        assert channel is not None  # noqa: S101 - for the type checker
        deadline = time.monotonic() + seconds
        while True:
            channel.settimeout(max(0.001, deadline - time.monotonic()))
            try:
                message = channel.recv(_MESSAGE)
            except TimeoutError as error:
                raise GraderStopped(f"grade.py took longer than {seconds:g} s.") from error
            except ConnectionError:
                message = b""
            if not message:
                raise GraderStopped(self._how_it_ended())
            reply = parsed(message)
            if reply.get("n") == number:
                return reply

    def _how_it_ended(self) -> str:
        """Return how the process ended, with what it printed."""
        if self._started is None:
            return "The grade.py process ended."
        reason = self._started.last_words()
        status = self._started.end(_ENDING)  # killed at once, it would have no status of its own
        return f"The grade.py process ended without a result (status {status}){f': {reason}' if reason else '.'}"

    def _start(self) -> None:
        """Start the process under bubblewrap, or without it if that does not work and is not required."""
        reason = "bwrap or setpriv is not installed (Debian packages bubblewrap, util-linux)"
        if self._contain and can_contain():
            reason = self._begin(contained=True)
        if self._channel is None:
            reason = self._begin(contained=False)
        if self._channel is None:
            raise InfrastructureFailure(f"The grader process did not start: {reason}")
        try:
            reply = self._receive(_READY, self._limits.start_seconds)
        except BaseException:
            self.close()
            raise
        if "failed" in reply:
            self.close()
            raise unusable(self._grade_py, reply["failed"])

    def _begin(self, *, contained: bool) -> str:
        """Start it and wait until it is ready, before grade.py runs; on failure close it, and return the reason."""
        our_end, child_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel = self._stack.enter_context(our_end)
        limits = self._limits
        try:
            with child_end:
                folder = temporary_folder(self._stack)
                lay_out(folder, self._grade_py)
                self._started = start(
                    folder, child_end.fileno(), limits.memory_bytes, limits.processes, contained=contained
                )
                self._stack.callback(self._started.end)
            self._receive(_STARTED, limits.start_seconds)
        except (OSError, GraderStopped) as error:
            self.close()
            return str(error)
        except BaseException:
            self.close()
            raise
        return ""
