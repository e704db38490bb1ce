"""The output of one command: its log, and what its result shows of it."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from sandbox.lab import LabLimits, agent
from sandbox.lab.channel import NotUnderstood
from sandbox.output import CappedOutput, plain_text
from state.redaction import RedactedStream, Redactor

_HELD_BYTES = 1 << 18
"""Of the output, for the result; more than what is shown, as what was overwritten is not."""
_REPETITION = re.compile(r"^((?:.+\n){1,4}?)\1{4,}", re.MULTILINE)
"""Lines that follow themselves, such as a warning of two lines by each fit: shown once, with how often they came."""


class CommandLog:
    """Takes in the output of a command and of what it leaves in the background."""

    def __init__(self, folder: Path, number: int, limits: LabLimits, redactor: Redactor) -> None:
        """Start a log in this folder, in place of any of that number."""
        self._name = f"{number}.txt"
        self._limits = limits
        self._output = CappedOutput(max(_HELD_BYTES, 8 * limits.shown_characters), redactor)
        self._stream = RedactedStream(redactor)
        self._received = 0
        self._left_out = 0
        self._problem: str | None = None
        self._file: BinaryIO | None = None
        with self._writing():
            path = folder / self._name
            path.unlink(missing_ok=True)
            self._file = path.open("xb", buffering=0)
            path.chmod(0o644)

    def add(self, chunk: bytes) -> None:
        """Take in the next bytes. Raises NotUnderstood: they are more than are ever passed on."""
        self._received += len(chunk)
        if self._received > self._limits.output_bytes + 4 * agent.TAIL:
            raise NotUnderstood("more output than requested")
        self._output.add(chunk)
        self._write(self._stream.pass_on(chunk))

    def leave_out(self, size: int) -> None:
        """Take note of bytes that were not passed on."""
        self._left_out += size
        self._output.leave_out(size)
        self._write(self._stream.pass_on(b"", last=True))
        self._write(f"\n[... {size} bytes left out ...]\n".encode())

    def excerpt(self, mark: str = "") -> str:
        """Return the part for a result, with `mark` before each line that is none of the output."""

        def repetition_note(match: re.Match[str]) -> str:
            return f"{match[1]}{mark}[{len(match[0]) // len(match[1]) - 1} times more]\n"

        head, cut, tail = self._output.parts()
        room = self._limits.shown_characters
        head, tail = (_REPETITION.sub(repetition_note, plain_text(part)) for part in (head, tail))
        if cut or len(head) > room:
            end = tail if cut else head
            first, last = _until_line_end(head[: room // 2]), _from_line_start(end[-(room - room // 2) :])
            omitted, place = cut + len(head) + len(tail) - len(first) - len(last), f"/lab/logs/{self._name}"
            remainder = f"{place} omits {self._left_out} bytes" if self._left_out else f"the full output is in {place}"
            head = f"{first}\n{mark}[... {omitted} characters left out; {remainder} ...]\n{last}"
        if self._problem:
            head += f"\n{mark}[the log could not be written: {self._problem}]"
        return head

    def close(self) -> None:
        """End the log."""
        self._write(self._stream.pass_on(b"", last=True))
        if self._file:
            self._file.close()

    def _write(self, content: bytes) -> None:
        if self._file and content and not self._problem:
            with self._writing():
                self._file.write(content)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:  # the disk is full, say: no reason to end anything
            self._problem = error.strerror or str(error)


def _until_line_end(text: str) -> str:
    """Cut a text at its last line end, unless that is far from its end."""
    cut = text.rfind("\n")
    return text[:cut] if cut > len(text) * 3 // 4 else text


def _from_line_start(text: str) -> str:
    cut = text.find("\n")
    return text[cut + 1 :] if 0 <= cut < len(text) // 4 else text
