"""Collecting the kept files from an untrusted working folder."""

import os
import shutil
import stat
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.disk import open_folder
from state.files import replacing

KEPT_BYTES = 200 * 1000**2
"""Largest kept file: a run's folder ends under 300 MB."""
FOLDER_FILES, FOLDER_BYTES = 500, 500 * 1000**2
"""Most files, and bytes together, of a kept folder."""


@dataclass(frozen=True)
class OutputFiles:
    """The files taken, and notes on the refused ones."""

    files: dict[str, Path] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def collect(work: Path, names: Iterable[str], out: Path, *, cap: int = KEPT_BYTES) -> OutputFiles:
    """Copy the named files that are plain files to `out`, where each appears whole or not at all.

    Links (hard ones too), FIFOs, devices and folders are refused with a note: they could mean a file of the host, or
    block the reader.

    No process is left that could change the folder, names have no slash, and `out` exists. `cap` is the largest size in
    bytes.

    Raises:
        OSError: The disk failed.
    """
    collected = OutputFiles()
    folder = open_folder(str(work))
    try:
        for name in names:
            problem = _take(folder, name, out, cap)
            if problem is None:
                collected.files[name] = out / name
            elif problem:
                collected.notes.append(f"{name} was not kept: {problem}")
    finally:
        os.close(folder)
    return collected


def collect_folder(work: Path, name: str, out: Path, mounted: Container[str] = ()) -> str | None:
    """Copy all plain files of a folder in the working folder to `out`, below the same name.

    No process is left that could change the folder. `mounted` folders, by their paths in it, are left out. Returns why
    nothing was copied, in words; None: all was, or there is nothing.

    Raises:
        OSError: The disk failed.
    """
    top = work / name
    if top.is_symlink() or not top.is_dir():
        return None
    files: list[tuple[Path, str]] = []
    for place, folders, names in os.walk(top, followlinks=False):
        folder = Path(place)
        folders[:] = sorted(name for name in folders if (folder / name).relative_to(work).as_posix() not in mounted)
        files += [(folder, name) for name in sorted(names)]
    files = [(parent, name) for parent, name in files if (parent / name).relative_to(work).as_posix() not in mounted]
    size = sum((parent / name).lstat().st_size for parent, name in files)
    if len(files) > FOLDER_FILES or size > FOLDER_BYTES:
        limit = f"{FOLDER_FILES} files, {FOLDER_BYTES // 1000**2} MB in total"
        return f"it contains {len(files)} files, {size / 1000**2:.0f} MB in total; the limit is {limit}"
    for folder, file in files:
        target = out / folder.relative_to(work)
        target.mkdir(parents=True, exist_ok=True)
        collected = collect(folder, [file], target, cap=FOLDER_BYTES)
        if collected.notes:
            shutil.rmtree(out / name)
            return f"{(folder / file).relative_to(work)}: {collected.notes[0]}"
    return None


def _take(folder: int, name: str, out: Path, cap: int) -> str | None:
    """Copy one file; return None if it was copied, an empty text if it is absent, or why it is refused."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return ""
    if problem := _refusal(status, cap):
        return problem
    try:
        source = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except PermissionError:
        return "it is not readable"
    with os.fdopen(source, "rb") as stream:
        if problem := _refusal(os.fstat(source), cap):
            return problem
        with replacing(out / name) as partial, partial.open("wb") as target:
            shutil.copyfileobj(stream, target, 1 << 20)
    return None


def _refusal(status: os.stat_result, cap: int) -> str | None:
    if stat.S_ISLNK(status.st_mode):
        return "it is a symbolic link"
    if not stat.S_ISREG(status.st_mode):
        return f"it is a {_KINDS.get(stat.S_IFMT(status.st_mode), 'device')}, not a regular file"
    if status.st_nlink != 1:
        return "it is a hard link"
    if status.st_size > cap:
        return f"it has {status.st_size} bytes; the limit is {cap}"
    return None


_KINDS = {stat.S_IFDIR: "folder", stat.S_IFIFO: "FIFO", stat.S_IFSOCK: "socket"}
