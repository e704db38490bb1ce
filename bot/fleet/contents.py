"""Folders by content: their files go to a node once, whichever folders they lie in, into a bounded cache."""

import hashlib
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sandbox.locks import Lock, try_lock
from sandbox.workspace import remove_tree
from state.files import sha256_of

_CHUNK = 1 << 20
_YOUNG = 600.0
"""Seconds for which a file is kept that no folder holds yet: somebody is about to make one of it."""


@dataclass(frozen=True)
class FolderFile:
    """A file of a folder."""

    path: str
    """Relative to the folder."""
    digest: str
    """SHA-256 of its content."""
    size: int


@dataclass(frozen=True)
class FolderManifest:
    """What a folder holds: its files, in order, and its folders, of which some may be empty."""

    files: tuple[FolderFile, ...]
    folders: tuple[str, ...]

    @property
    def digest(self) -> str:
        """What identifies the content."""
        return hashlib.sha256(repr(self).encode()).hexdigest()


class Contents:
    """Reads folders that do not change while they are used; each file is read once."""

    def __init__(self) -> None:
        self._digests: dict[tuple[str, int, int, int], str] = {}

    def manifest(self, folder: Path) -> FolderManifest:
        """Return what a folder holds, files behind links included; raises OSError if it cannot be read."""
        files, folders = [], []
        for parent, inner, names in os.walk(folder, followlinks=True, onerror=_fail):
            folders += [str(Path(parent, name).relative_to(folder)) for name in inner]
            for name in names:
                path = Path(parent, name)
                status = path.stat()
                key = str(path), status.st_ino, status.st_size, status.st_mtime_ns
                if key not in self._digests:
                    self._digests[key] = sha256_of(path)
                files.append(FolderFile(str(path.relative_to(folder)), self._digests[key], status.st_size))
        return FolderManifest(tuple(sorted(files, key=lambda f: f.path)), tuple(sorted(folders)))


class NodeCache:
    """A node's copies: `files` by their content's digest, and `folders` whose files are links to these.

    It is shared by all processes of the node, and any of them may be killed: what has its final name is whole.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._files, self._folders, self._max_bytes = folder / "files", folder / "folders", max_bytes
        for path in (self._files, self._folders):
            path.mkdir(parents=True, exist_ok=True)

    def folder(self, digest: str) -> Path:
        """Return where a folder lies, or is to lie."""
        return self._folders / digest

    def file(self, digest: str) -> Path:
        """Return where a file lies, or is to lie."""
        return self._files / digest

    def use(self, digest: str) -> Lock | None:
        """Return a lock by which a folder stays, to be released after use; None if it is not there."""
        lock = try_lock(self._folders / f"{digest}.lock", shared=True)
        if lock is None:
            return None
        if not self.folder(digest).is_dir():
            lock.release()
            return None
        os.utime(lock.path)
        return lock

    def missing(self, digests: Iterable[str]) -> list[str]:
        """Return the digests of files that are not there, each once."""
        return [d for d in dict.fromkeys(digests) if not (self._files / d).exists()]

    def write_piece(self, digest: str, offset: int, chunk: bytes, *, last: bool) -> None:
        """Write a piece of a file, the first one at 0, and with the last one give it its name.

        Raises OSError: the disk failed, or the content is not what the digest says.
        """
        partial = self._files / f".{digest}.{os.getpid()}"
        with partial.open("wb" if offset == 0 else "ab") as stream:
            stream.write(chunk)
        if not last:
            return
        if sha256_of(partial) != digest:
            partial.unlink()
            raise OSError(f"corrupted transfer: file {digest} does not match its checksum")
        partial.chmod(0o644)
        partial.rename(self._files / digest)

    def make(self, manifest: FolderManifest) -> None:
        """Make a folder of files that are there; raises OSError, FileNotFoundError where one is not (any more)."""
        folder = self.folder(manifest.digest)
        partial = folder.with_name(f".{folder.name}.{os.getpid()}")
        remove_tree(partial)
        partial.mkdir()
        for inner in manifest.folders:
            (partial / inner).mkdir(parents=True, exist_ok=True)
        for entry in manifest.files:
            os.link(self._files / entry.digest, partial / entry.path)
        try:
            partial.rename(folder)
        except OSError:
            remove_tree(partial)  # another process was faster
            if not folder.is_dir():
                raise

    def prune(self) -> None:
        """Remove the folders that were used longest ago, and the files that only they held, until the cache is within bounds."""
        locks = sorted(self._folders.glob("*.lock"), key=lambda p: p.stat().st_mtime)
        while locks and sum(entry.stat().st_size for entry in os.scandir(self._files)) > self._max_bytes:
            path = locks.pop(0)
            if (lock := try_lock(path)) is None:
                continue
            remove_tree(path.with_suffix(""))
            lock.release(remove=True)
            for entry in os.scandir(self._files):
                status = entry.stat()
                if status.st_nlink == 1 and time.time() - status.st_mtime > _YOUNG:
                    Path(entry.path).unlink(missing_ok=True)


def _fail(error: OSError) -> None:
    raise error
