"""What a killed bot has left on the machine: finding it and removing it, and nothing of anybody else's."""

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from sandbox.instance import FOLDER, OwnedFolder, label_of, temporary_prefix
from sandbox.tree import MARKER
from sandbox.workspace import remove_tree

__all__ = ["left_folders", "remove_left"]

_LEVELS = 4
"""Depth of such folders below a state folder: <run>/executions/<execution>/.execution; what lies deeper is not ours."""
_ROUNDS = 100


def left_folders(state: Path) -> list[OwnedFolder]:
    """Return the work folders below a state folder whose bots are gone."""
    found = (OwnedFolder(path.parent) for path in _work_folders(state, _LEVELS))
    return [folder for folder in found if folder.is_left]


def remove_left(folder: OwnedFolder) -> str:
    """End what still runs for a work folder whose bot is gone, then remove it with its temporary folders.

    Returns:
        A sentence on what was removed, or why it was not.
    """
    killed = _kill_marked(label_of(folder.out))
    if mounts := _unmount(folder.path):
        return f"{folder.path} stays: {', '.join(mounts)} cannot be unmounted"
    for tmp in _temporary_folders(folder.out):
        remove_tree(tmp)
    remove_tree(folder.path)
    return f"removed {folder.path}" + (f" and ended {killed} process(es) of it" if killed else "")


def _work_folders(folder: Path, levels: int) -> Iterator[Path]:
    try:
        entries = [entry for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return
    for entry in entries:
        if entry.name == FOLDER:
            yield Path(entry.path)
        elif levels > 1:
            yield from _work_folders(Path(entry.path), levels - 1)


def _kill_marked(label: str) -> int:
    """Kill all processes with this label, stopped first, so that none forks on; return how many there were."""
    seen: set[int] = set()
    for _ in range(_ROUNDS):
        members = [process for process in psutil.process_iter() if _mark(process).startswith(f"{label}.")]
        if not members:
            break
        seen |= {member.pid for member in members}
        for sign in (signal.SIGSTOP, signal.SIGKILL):
            for member in members:
                with contextlib.suppress(psutil.Error):
                    member.send_signal(sign)
        time.sleep(0.01)  # death is not instant, and nothing reports that of a process that is not our child
    return len(seen)


def _mark(process: psutil.Process) -> str:
    try:
        return process.environ().get(MARKER, "") if process.status() != psutil.STATUS_ZOMBIE else ""
    except (psutil.Error, OSError):
        return ""


def _temporary_folders(out: Path) -> list[Path]:
    found = Path(tempfile.gettempdir()).glob(f"{temporary_prefix(out)}*")
    return [path for path in found if path.is_dir() and not path.is_symlink() and path.stat().st_uid == os.geteuid()]


def _unmount(folder: Path) -> list[str]:
    """Unmount what is mounted below a folder, and return what still is: to remove it would empty what is mounted."""
    for mount in _mounts_below(folder):
        subprocess.run(["umount", "--lazy", "--", mount], check=False, capture_output=True)
    return _mounts_below(folder)


def _mounts_below(folder: Path) -> list[str]:
    lines = os.fsencode(Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")).splitlines()
    points = [os.fsdecode(line.split()[4].decode("unicode_escape").encode("latin-1")) for line in lines]
    return [point for point in reversed(points) if point.startswith(f"{folder.resolve()}/")]
