"""The output of a script: all of it is read, the first and the last part are kept, and shown while it runs."""

import contextlib
from pathlib import Path

from sandbox.collect import write_atomically
from state.redaction import Redactor

_LOG_EVERY = 2.0
"""Seconds between two versions of a log."""
_PLACE = "a script's output"


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

    def text(self) -> str:
        """Return the kept output, decoded, without secrets, with a line on the bytes missing in the middle."""
        tail = bytes(self._tail[max(0, len(self._tail) - self._tail_cap) :])
        cut = self.seen - len(self._head) - len(tail)
        if not cut:
            return self._redactor.own(_decoded(bytes(self._head) + tail), _PLACE)
        text = f"{_decoded(bytes(self._head))}\n[... {cut} bytes cut ...]\n{_decoded(tail)}"
        return self._redactor.own(text, _PLACE)


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
            write_atomically(self._path, self._output.text())


def _decoded(content: bytes) -> str:
    """Return it as text, with a question mark for each invalid piece: never more bytes than before."""
    return content.decode("utf-8", errors="replace").replace("\N{REPLACEMENT CHARACTER}", "?")
