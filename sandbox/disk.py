"""How much a script has written to its folders."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

DEEPEST = 64
"""Levels of nested folders that are measured; deeper ones count as a breach, since nothing useful needs them."""


@dataclass(frozen=True)
class DiskUsage:
    """The content of a folder."""

    bytes: int = 0
    """Allocated bytes, so that a sparse file counts for what it occupies."""
    files: int = 0
    """Entries of any kind."""
    too_deep: bool = False

    def __add__(self, addend: "DiskUsage") -> "DiskUsage":
        return DiskUsage(self.bytes + addend.bytes, self.files + addend.files, self.too_deep or addend.too_deep)


def folder_usage(folder: Path, *, enough_files: int) -> DiskUsage:
    """Measure a folder that may change meanwhile.

    Links are never followed, on any level: a script could replace a folder by a link to the host's root.

    Counting stops beyond `enough_files` entries.
    """
    return _opened_usage(str(folder), None, DEEPEST, enough_files)


def _opened_usage(name: str, parent: int | None, levels: int, limit: int) -> DiskUsage:
    try:
        descriptor = open_folder(name, parent)
    except OSError:
        return DiskUsage()  # gone, or no folder any more
    try:
        return _usage(descriptor, levels, limit)
    finally:
        os.close(descriptor)


def _usage(descriptor: int, levels: int, limit: int) -> DiskUsage:
    if levels == 0:
        return DiskUsage(too_deep=True)
    size = files = 0
    folders: list[str] = []
    with os.scandir(descriptor) as entries:
        for entry in entries:
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # it is gone already
            size += status.st_blocks * 512
            files += 1
            if stat.S_ISDIR(status.st_mode):
                folders.append(entry.name)
            if files > limit:
                return DiskUsage(size, files)
    total = DiskUsage(size, files)
    for name in folders:
        total += _opened_usage(name, descriptor, levels - 1, limit - total.files)
        if total.files > limit or total.too_deep:
            break
    return total


def open_folder(name: str, parent: int | None = None) -> int:
    """Return a descriptor of a folder (in a parent's), which is no link, made readable first if its owner had closed it.

    Raises OSError: it is gone, no folder, or somebody else's.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    try:
        return os.open(name, flags, dir_fd=parent)
    except PermissionError:
        # A folder may be writable without being readable; its owner, which we are, can make it readable. This goes through
        # the descriptor's own path, since the name could be a link by now.
        handle = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
        try:
            Path(f"/proc/self/fd/{handle}").chmod(0o700)
        finally:
            os.close(handle)
        return os.open(name, flags, dir_fd=parent)
