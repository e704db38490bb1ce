"""A call to the engine: a line of JSON, the bytes of files, and the answer in a line of JSON."""

from __future__ import annotations

import io
import json
import os
import socket
import stat
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOCKET = "/lab/.engine/socket"
_HEADER_BYTES, _ANSWER_BYTES, _CHUNK = 64 * 1024, 256 * 1024, 1024 * 1024
_BUSY_SECONDS = 60.0


class LabError(Exception):
    """A call that came to nothing; the text is a sentence that says why."""

    def __init__(self, text: str, status: int = 2) -> None:
        """Take the sentence, and the command's exit status: 1 for the engine's refusal, 2 for misuse."""
        super().__init__(text)
        self.status = status


@dataclass
class FilePart:
    """A file that is sent: one that is open, or bytes."""

    role: str
    name: str
    size: int
    content: Any

    @property
    def is_file(self) -> bool:
        """Whether it is read while it is sent."""
        return isinstance(self.content, io.BufferedReader)

    def send(self, connection: socket.socket) -> None:
        """Send so many bytes as were announced."""
        if not self.is_file:
            for piece in self.content:
                connection.sendall(piece)
            return
        remaining = self.size
        while remaining:
            piece = self.content.read(min(remaining, _CHUNK))
            if not piece:
                raise LabError(f"{self.name} shrank while it was being sent", 1)
            connection.sendall(piece)
            remaining -= len(piece)


def call(command: str, arguments: dict[str, Any], parts: Sequence[FilePart] = ()) -> dict[str, Any]:
    """Make a call, and wait for its answer as long as it takes; raises LabError."""
    try:
        if folder := os.environ.get("LAB_SEALED"):
            return _keep(Path(folder), arguments, parts)
        files = [{"role": part.role, "name": part.name, "bytes": part.size} for part in parts]
        header = json.dumps({"command": command, "arguments": arguments, "files": files}, ensure_ascii=False)
        # Halves of characters, which arguments may hold, are nothing that UTF-8 can say.
        first = header.encode("utf-8", "replace") + b"\n"
        if len(first) > _HEADER_BYTES:
            raise LabError(f"the text is too long: {len(first)} bytes; the limit is {_HEADER_BYTES}")
        with connect(os.environ.get("LAB_SOCKET") or SOCKET) as connection:
            try:
                connection.sendall(first)
                for part in parts:
                    part.send(connection)
            except (BrokenPipeError, ConnectionResetError):
                pass  # It was refused before all was sent; the answer says why.
            answer = receive_answer(connection)
    finally:
        for part in parts:
            if part.is_file:
                part.content.close()
    if answer["status"] != 0:
        raise LabError(answer["text"].rstrip("\n"), answer["status"])
    return answer


def connect(path: str) -> socket.socket:
    """Connect to the engine; where it is busy this waits, and tries again where the kernel does not let it wait."""
    end = time.monotonic() + _BUSY_SECONDS
    while True:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(path)
            return connection
        except BlockingIOError:
            connection.close()
            if time.monotonic() > end:
                raise LabError("the engine is too busy to answer; try again later", 1) from None
            time.sleep(0.05)
        except OSError as error:
            connection.close()
            reason = error.strerror or str(error)
            raise LabError(f"cannot connect to the engine at {path} ({reason})", 1) from None


def receive_answer(connection: socket.socket) -> dict[str, Any]:
    """Wait for the answer."""
    read = bytearray()
    try:
        while not read.endswith(b"\n") and len(read) < _ANSWER_BYTES:
            part = connection.recv(_CHUNK)
            if not part:
                break
            read += part
    except OSError:
        pass  # An answer that came whole stands.
    try:
        answer = json.loads(read)
        if isinstance(answer["text"], str) and answer["status"] in (0, 1, 2):
            return dict(answer)
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise LabError("the engine closed the connection without answering", 1)


def _keep(folder: Path, arguments: dict[str, Any], parts: Sequence[FilePart]) -> dict[str, Any]:
    """Keep arrays in a folder: where a retraining command runs, nobody answers, and its predictions are taken from there."""
    place = folder / str(arguments.get("name") or "unnamed").replace("/", "-")
    for part in parts:
        if part.role != "source":
            place.mkdir(parents=True, exist_ok=True)
            (place / part.name).write_bytes(part.content.read() if part.is_file else b"".join(part.content))
    return {"status": 0, "text": "saved; the engine is not available in this run"}


def open_plain(path: str, limit: int) -> io.BufferedReader:
    """Open a regular file of a bounded size; a pipe or device would make us wait, or never end."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise LabError(f"cannot read {path!r}: {getattr(error, 'strerror', None) or error}") from None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        problem = "it is not a regular file"
    elif status.st_size > limit:
        problem = f"it has {status.st_size} bytes; the limit is {limit}"
    else:
        return open(descriptor, "rb")  # noqa: PTH123 - by its descriptor
    os.close(descriptor)
    raise LabError(f"cannot use {path!r}: {problem}")


def file_part(role: str, name: str, path: str, limit: int) -> FilePart:
    """Return a file as it lies there."""
    file = open_plain(path, limit)
    return FilePart(role, name, os.fstat(file.fileno()).st_size, file)
