"""Removing files from a folder of runs: leftovers of killed runs, and the views of runs that ended long ago."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from bot.execution.folder import RunFolder
from sandbox.leftovers import left_by_killed, own_bytes
from sandbox.workspace import remove_tree


@dataclass(frozen=True)
class Prunable:
    """One thing that may be removed."""

    what: Literal["left", "views", "files"]
    """Leftovers of a killed bot, the views of a finished run, or files of executions that are not needed."""
    name: str
    bytes: int
    """Bytes that are freed; files with links from elsewhere do not count."""
    said: str
    """What was done, for people."""


def prune(folder: Path, keep_days: float, now: datetime, *, dry_run: bool) -> list[Prunable]:
    """Remove what is not needed below a folder of runs, and return it.

    Views of a finished run stay for `keep_days`; a run without a result may still be resumed, so that its views stay, too.
    """
    found = []
    for left in left_by_killed(folder):
        size = left.size()
        found.append(Prunable("left", left.name, size, f"would remove {left.name}" if dry_run else left.remove()))
    for views in _old_views(folder, keep_days, now):
        size = own_bytes([views])
        if not dry_run:
            remove_tree(views)
        found.append(Prunable("views", str(views), size, f"{'would remove' if dry_run else 'removed'} {views}"))
    return found


def _old_views(folder: Path, keep_days: float, now: datetime) -> Iterator[Path]:
    for run in sorted(map(RunFolder, folder.iterdir() if folder.is_dir() else ()), key=lambda run: run.path):
        if run.path.is_symlink() or not run.config.is_file() or not run.result.is_file() or not run.views.is_dir():
            continue
        age = now.timestamp() - run.result.stat().st_mtime
        if age > keep_days * 86400:
            yield run.views
