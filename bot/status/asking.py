"""Asking a running daemon how it stands: it has loaded all that reads its database, which takes a command most of its time.

At a unix socket in the daemon's folder one line of JSON is the question and one the answer. Whoever gets no answer reads the
database: no daemon runs, it hangs, or something is wrong, which is then told in the same way as ever.
"""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

SOCKET = "status.sock"
"""In the daemon's folder; a daemon that was killed leaves it behind."""
_SECONDS = 2.0
"""After which a daemon is held to hang."""


@dataclass(frozen=True)
class Question:
    """What is to be shown of how a daemon stands."""

    file: str | None
    """The bot.toml by which it is shown, as an absolute path; None: all is as by default."""
    names: tuple[str, ...] = ()
    """Of competitions; none: all."""
    json: bool = False
    """Whether it is for a program."""


def ask(folder: Path, question: Question) -> dict[str, Any] | None:
    """Return the answer of the daemon that works in a folder; None where it gives none within two seconds."""
    try:
        with socket.socket(socket.AF_UNIX) as asking, address(folder) as at:
            asking.settimeout(_SECONDS)
            asking.connect(at)
            with asking.makefile("rwb") as both:
                both.write(as_line({"to": addressee(folder), "question": asdict(question)}))
                both.flush()
                answer: dict[str, Any] = json.loads(both.readline())
                return answer
    except (OSError, ValueError):
        return None


def addressee(folder: Path) -> list[str]:
    """Return who may answer for a folder: another version, or one that knows it by another path, would show other words."""
    return [metadata.version("kaggle-bot"), str(folder)]


def as_line(value: dict[str, Any]) -> bytes:
    """Return a question or an answer as it is sent.

    Raises:
        ValueError: a number in it is NaN or infinite.
    """
    return json.dumps(value, allow_nan=False).encode() + b"\n"


@contextmanager
def address(folder: Path) -> Iterator[str]:
    """Give the socket's address, by way of the opened folder: an address holds 107 bytes, and a path may be longer.

    Raises:
        OSError: the folder cannot be opened.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET}"
    finally:
        os.close(descriptor)
