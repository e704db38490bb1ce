"""The lock that a daemon holds in its folder while it runs."""

from pathlib import Path

from sandbox.locks import is_held

LOCK = "daemon.lock"
"""In the daemon's folder."""


def is_running(folder: Path) -> bool:
    """Return whether a daemon works in a folder, or may do so."""
    return is_held(folder / LOCK)


def works_already(folder: Path) -> str:
    """Return why no second daemon starts in a folder."""
    return f"another daemon is running in {folder}: stop it first, or set a different [daemon] dir"
