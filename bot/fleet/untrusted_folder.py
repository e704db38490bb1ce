"""Folders that a lab writes in: their plain files alone, read without following any link, while it may go on to write."""

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from bot.fleet.contents import FolderFile, FolderManifest
from sandbox.disk import DEEPEST, open_folder
from sandbox.workspace import remove_tree

_PLAIN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class UntrustedFolder:
    """Reads one folder; a file that has not changed is read once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._digests: dict[tuple[str, int, int, int], str] = {}

    def manifest(self, largest: int | None = None, max_bytes: int | None = None) -> FolderManifest:
        """Return what the folder holds: folders and plain files.

        Links (hard ones too), devices and what cannot be read are left out: what a link leads to is not the lab's.

        Args:
            largest: size (bytes) above which a file is only named, with an empty digest; None: there is none.
            max_bytes: bytes that are read altogether, as a file may have holes; what is more is left out. None: all.
        """
        files, folders, room = list[FolderFile](), list[str](), float("inf") if max_bytes is None else max_bytes
        for parent, inner, names, descriptor in os.fwalk(self._folder):
            place = PurePosixPath(parent).relative_to(self._folder)
            if len(place.parts) >= DEEPEST:
                inner.clear()
            for name in inner:
                with suppress(FileNotFoundError):
                    if stat.S_ISDIR(os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode):
                        folders.append(str(place / name))
            for name in names:
                if (entry := self._entry(str(place / name), name, descriptor, largest, room)) is not None:
                    files.append(entry)
                    room -= entry.size if entry.digest else 0
        return FolderManifest(tuple(sorted(files, key=lambda f: f.path)), tuple(sorted(folders)))

    def _entry(self, path: str, name: str, parent: int, largest: int | None, room: float) -> FolderFile | None:
        try:
            descriptor = os.open(name, _PLAIN, dir_fd=parent)
        except OSError:
            return None  # a link, a closed file, or gone meanwhile
        with os.fdopen(descriptor, "rb") as stream:
            status = os.fstat(descriptor)
            if not _is_plain(status):
                return None
            if largest is not None and status.st_size > largest:
                return FolderFile(path, "", status.st_size)
            if status.st_size > room:
                return None
            # Its owner can set back the time of a change, but not this one.
            key = path, status.st_ino, status.st_size, status.st_ctime_ns
            if key not in self._digests:
                self._digests[key] = hashlib.file_digest(stream, "sha256").hexdigest()
            return FolderFile(path, self._digests[key], status.st_size)

    def read(self, path: str, offset: int, size: int) -> bytes:
        """Return a piece of a file; an empty one where it is not a regular file any more."""
        try:
            with self._open_file(path) as stream:
                stream.seek(offset)
                return stream.read(size)
        except OSError:
            return b""

    @contextmanager
    def _open_file(self, path: str) -> Iterator[BinaryIO]:
        parent = open_folder(str(self._folder))
        try:
            *parents, name = PurePosixPath(path).parts
            for part in parents:
                inner = open_folder(part, parent)
                os.close(parent)
                parent = inner
            descriptor = os.open(name, _PLAIN, dir_fd=parent)
        finally:
            os.close(parent)
        with os.fdopen(descriptor, "rb") as stream:
            if not _is_plain(os.fstat(descriptor)):
                raise OSError(f"{path} is not a regular file")
            yield stream


def make_alike(folder: Path, manifest: FolderManifest) -> None:
    """Remove what a folder holds beyond a manifest, links first of all, and make the folders that it lacks.

    No process may write in it. Raises OSError if the disk failed.
    """
    files, folders = {entry.path for entry in manifest.files}, set(manifest.folders)
    folder.mkdir(parents=True, exist_ok=True)
    for parent, inner, names in os.walk(folder):
        place = Path(parent)
        for name in list(inner):
            path = place / name
            if path.is_symlink():
                path.unlink()
            elif str(path.relative_to(folder)) not in folders:
                remove_tree(path)
            else:
                continue
            inner.remove(name)
        for name in names:
            path = place / name
            if path.is_symlink() or str(path.relative_to(folder)) not in files:
                path.unlink()
    for name in manifest.folders:
        (folder / name).mkdir(parents=True, exist_ok=True)


def _is_plain(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode) and status.st_nlink == 1
