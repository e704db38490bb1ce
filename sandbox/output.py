"""The output of a script: all of it is read, the first and the last part are kept, and shown while it runs."""

import contextlib
import re
from pathlib import Path

from state.files import write_whole
from state.redaction import Redactor

_LOG_EVERY = 2.0
"""Seconds between two versions of a log."""
_PLACE = "a script's output"
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?|\x1b[ -/]*[0-~]"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

ENGINE_MARK = "\x1e"
"""Stands before a line of ours in a result; no output has it, as `plain_text` takes it out."""


def plain_text(text: str) -> str:
    """Return an output as a terminal would show it in the end: no colours, nothing that was overwritten."""
    lines = _ESCAPES.sub("", text).replace("\r\n", "\n").split("\n")
    # A carriage return overwrites: what a terminal would show is the last piece.
    return "\n".join(_CONTROLS.sub("", line.rstrip("\r").rsplit("\r", 1)[-1]) for line in lines)


class CappedOutput:
    """Output kept up to a cap, half of it for the beginning and half for the end."""

    def __init__(self, cap: int, redactor: Redactor | None = None) -> None:
        """Take the cap in bytes, and the redactor of the kept text."""
        self._redactor = redactor or Redactor()
        self._head_cap = cap // 2
        self._tail_cap = cap - self._head_cap
        self._head = bytearray()
        self._tail = bytearray()
        self.seen = 0
        """Number of all bytes, kept or not."""

    @property
    def overflowing(self) -> bool:
        """Whether something has been cut already."""
        return self.seen > self._head_cap + self._tail_cap

    def add(self, chunk: bytes) -> None:
        """Take in the next bytes."""
        self.seen += len(chunk)
        room = self._head_cap - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        self._tail += chunk
        # Trimmed at twice the cap, not at each chunk: a small chunk must not cost a copy of the whole tail.
        if len(self._tail) > 2 * self._tail_cap:
            del self._tail[: len(self._tail) - self._tail_cap]

    def leave_out(self, size: int) -> None:
        """Count bytes that were not passed on: what comes next is the end."""
        self.seen += size
        self._head_cap = len(self._head)
        self._tail.clear()

    def parts(self) -> tuple[str, int, str]:
        """Return what is kept, decoded, without secrets: the beginning, how many bytes are missing, and the end."""
        tail = bytes(self._tail[max(0, len(self._tail) - self._tail_cap) :])
        cut = self.seen - len(self._head) - len(tail)
        head, tail = (bytes(self._head), tail) if cut else (bytes(self._head) + tail, b"")
        return self._redactor.own(_decoded(head), _PLACE), cut, self._redactor.own(_decoded(tail), _PLACE)

    def text(self) -> str:
        """Return what is kept, decoded, without secrets, with a line that says how much is missing in the middle."""
        head, cut, tail = self.parts()
        return f"{head}\n[... {cut} bytes cut ...]\n{tail}" if cut else head


class LiveLog:
    """A file with the kept output, to be read while the script runs."""

    def __init__(self, path: Path, output: CappedOutput) -> None:
        self._path = path
        self._output = output
        self._written = 0
        self._due = 0.0

    def update(self, now: float) -> None:
        """Rewrite the file if there is more to read, every other second at most.

        A full disk ends nothing here: the last version, written at the end, reports it.
        """
        if now < self._due or self._output.seen == self._written:
            return
        self._due, self._written = now + _LOG_EVERY, self._output.seen
        with contextlib.suppress(OSError):
            write_whole(self._path, self._output.text())


def _decoded(content: bytes) -> str:
    """Return it as text, with a question mark for each invalid piece: never more bytes than before."""
    return content.decode("utf-8", errors="replace").replace("\N{REPLACEMENT CHARACTER}", "?")
