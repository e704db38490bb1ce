"""The page served for real: `bot web` in a process of its own."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def served(folder: Path) -> Iterator[tuple[int, str]]:
    """Serve the page of a folder with a bot.toml; yields its port and its token."""
    command = [sys.executable, "-m", "bot", "web", "--config", "bot.toml", "--port", "0"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stderr is not None
    try:
        line = process.stdout.readline()
        address, _, token = line.strip().partition("/?token=")
        assert token, f"{line}{process.stderr.read() if process.poll() is not None else ''}"
        yield int(address.rpartition(":")[2]), token
    finally:
        process.terminate()
        process.communicate(timeout=20)
