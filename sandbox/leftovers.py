"""Leftovers of killed bots on the machine: finding and removing them, and nothing of anybody else's."""

import contextlib
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil

from sandbox.image.engine import ENGINE_FAILURES, connect, say
from sandbox.instance import FOLDER, OwnedFolder, instance_of, is_alive, label_of, temporary_prefix
from sandbox.profile import INSTANCE, OWNER
from sandbox.tree import MARKER, kill_all
from sandbox.workspace import remove_tree

_LEVELS = 4
"""Depth of such folders below a state folder: <run>/executions/<execution>/.execution; deeper ones are not ours."""
_PROBE = re.compile(r"bot-(\d+-\d+-[0-9a-f]{8})-\w+")
"""Name of a temporary folder in which a sandbox was tried."""


@dataclass(frozen=True)
class OrphanedResource:
    """One thing that a killed bot has left."""

    name: str
    size: Callable[[], int]
    """Returns the bytes of disk that it occupies."""
    remove: Callable[[], str]
    """Removes it with all that belongs to it; returns a sentence on what was removed, or why it was not."""


def find_orphaned_resources(state: Path) -> list[OrphanedResource]:
    """Return what killed bots left that kept their state in this folder, in the order in which it must go."""
    return [*_containers(instance_of(state)), *_folders(state), *_probes()]


def _containers(instance: str) -> list[OrphanedResource]:
    try:
        with connect() as engine:
            filters = {"label": f"{INSTANCE}={instance}"}
            containers = engine.containers.list(all=True, filters=filters, ignore_removed=True)
            names = [str(container.name) for container in containers if not is_alive(container.labels.get(OWNER, ""))]
    except ENGINE_FAILURES:
        return []  # without an engine there are no containers to be seen
    return [OrphanedResource(f"container {name}", lambda: 0, partial(_remove_container, name)) for name in names]


def _remove_container(name: str) -> str:
    try:
        with connect() as engine:
            engine.api.remove_container(name, v=True, force=True)
    except ENGINE_FAILURES as error:
        return f"cannot remove container {name}: {say(error)}"
    return f"removed container {name}"


def _folders(state: Path) -> Iterator[OrphanedResource]:
    for path in _work_folders(state, _LEVELS):
        folder = OwnedFolder(path.parent)
        if folder.is_orphaned:
            parts = [folder.path, *_temporary_folders(folder.out)]
            yield OrphanedResource(str(path), partial(own_bytes, parts), partial(remove_orphaned_folder, folder))


def _probes() -> Iterator[OrphanedResource]:
    for path in _own_folders(Path(tempfile.gettempdir()).glob("bot-*")):
        match = _PROBE.fullmatch(path.name)
        if match and not is_alive(match[1]):
            yield OrphanedResource(str(path), partial(own_bytes, [path]), partial(_remove_probe, path))


def _remove_probe(path: Path) -> str:
    remove_tree(path)
    return f"removed {path}"


def remove_orphaned_folder(folder: OwnedFolder) -> str:
    """End what still runs for a work folder whose bot is gone, then remove it with its temporary folders."""
    label = label_of(folder.out)
    killed = kill_all(lambda: [process for process in psutil.process_iter() if _mark(process).startswith(f"{label}.")])
    if mounts := _unmount(folder.path):
        return f"cannot remove {folder.path}: {', '.join(mounts)} cannot be unmounted"
    for path in (*_temporary_folders(folder.out), folder.path):
        remove_tree(path)
    return f"removed {folder.path}" + (f" and ended {killed} of its processes" if killed else "")


def own_bytes(folders: Iterable[Path]) -> int:
    """Return the bytes of disk that would be free without these folders: those of files with no link from elsewhere."""
    links: dict[tuple[int, int], int] = {}
    total = 0
    for parent, _, names in (step for folder in folders for step in os.walk(folder)):
        for name in names:
            with contextlib.suppress(OSError):
                status = Path(parent, name).lstat()
                key = status.st_dev, status.st_ino
                links[key] = links.get(key, 0) + 1
                total += status.st_blocks * 512 if links[key] == status.st_nlink else 0
    return total


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


def _mark(process: psutil.Process) -> str:
    try:
        return process.environ().get(MARKER, "") if process.status() != psutil.STATUS_ZOMBIE else ""
    except (psutil.Error, OSError):
        return ""


def _temporary_folders(out: Path) -> list[Path]:
    return _own_folders(Path(tempfile.gettempdir()).glob(f"{temporary_prefix(out)}*"))


def _own_folders(paths: Iterable[Path]) -> list[Path]:
    return [path for path in paths if path.is_dir() and not path.is_symlink() and path.stat().st_uid == os.geteuid()]


def _unmount(folder: Path) -> list[str]:
    """Unmount what is mounted below a folder, and return what still is: to remove it would empty what is mounted."""
    for mount in _mounts_below(folder):
        subprocess.run(["umount", "--lazy", "--", mount], check=False, capture_output=True)
    return _mounts_below(folder)


def _mounts_below(folder: Path) -> list[str]:
    lines = os.fsencode(Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")).splitlines()
    points = [os.fsdecode(line.split()[4].decode("unicode_escape").encode("latin-1")) for line in lines]
    return [point for point in reversed(points) if point.startswith(f"{folder.resolve()}/")]
