"""Asking a running daemon for its status: it has already loaded what reads its database, which takes a command most of its time.

At a unix socket in the daemon's folder, one line of JSON is the question and one is the answer. Without an answer the
command reads the database itself: no daemon runs, it hangs, or something is wrong, which is then reported as usual.
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

LOCK = "daemon.lock"
"""In the daemon's folder; held while it runs."""
SOCKET = "status.sock"
"""In the daemon's folder; a daemon that was killed leaves it behind."""
_SECONDS = 2.0
"""Time without an answer after which the daemon counts as hung."""


def works_already(folder: Path) -> str:
    """Return why no second daemon starts in a folder."""
    return f"another daemon works in {folder}: end it first, or name another folder ([daemon] dir)"


@dataclass(frozen=True)
class Question:
    """Which part of a daemon's status to show, and how."""

    file: str | None
    """The bot.toml to use, as an absolute path; None: the default settings."""
    names: tuple[str, ...] = ()
    """Names of competitions; empty: all."""
    json: bool = False
    """Whether the answer is for a program."""


def ask(folder: Path, question: Question) -> dict[str, Any] | None:
    """Return the answer of the daemon that works in a folder; None without one within two seconds."""
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
    """Return the daemon that may answer for a folder: another version, or another path of it, would show other text."""
    return [metadata.version("kaggle-bot"), str(folder)]


def as_line(value: dict[str, Any]) -> bytes:
    """Return a question or an answer as the line that is sent.

    Raises:
        ValueError: a number in it is NaN or infinite.
    """
    return json.dumps(value, allow_nan=False).encode() + b"\n"


@contextmanager
def address(folder: Path) -> Iterator[str]:
    """Yield the socket's address, through the opened folder: an address holds 107 bytes, and a path may be longer.

    Raises:
        OSError: the folder cannot be opened.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET}"
    finally:
        os.close(descriptor)
