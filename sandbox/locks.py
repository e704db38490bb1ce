"""Locks on files, and waiting lines: the kernel releases both when their holder dies, even by `kill -9`."""

import contextlib
import fcntl
import itertools
import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from state.errors import UsageError

_OPEN = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LETTING_GO = 2.0
"""Seconds that a dead process's child may take on a busy machine to run its program."""


class Lock:
    """A lock that is held until it is released, or this process ends."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    def release(self, *, remove: bool = False) -> None:
        """Release it, and remove its file if nobody else will want it."""
        if remove:
            with contextlib.suppress(OSError):
                self.path.unlink()
        # Closing alone is not enough: a child that is just being started may hold a copy of the descriptor.
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        os.close(self._descriptor)


def try_lock(path: Path, *, shared: bool = False) -> Lock | None:
    """Take the lock on a file, which is made if it is absent; None if somebody else holds it.

    Nothing is ever written to the file. `shared`: it is held beside others that hold it in this way.

    Raises OSError: the file cannot be opened, is not a plain file, or is on a file system without locks.
    """
    operation = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    while True:
        descriptor = _open(path)
        try:
            fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
            # A lock on a file that is no longer at its path excludes nobody.
            if _is_at(path, descriptor):
                return Lock(path, descriptor)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except OSError:
            os.close(descriptor)
            raise
        os.close(descriptor)


def lock_within_seconds(path: Path) -> Lock | None:
    """Take the lock as soon as a dead holder has let go of it; None if a living one does not within seconds.

    A process that is killed while it starts another leaves a copy of its descriptors there, until that one runs its program.
    Raises OSError as `try_lock` does.
    """
    until = time.monotonic() + _LETTING_GO
    while (lock := try_lock(path)) is None and time.monotonic() < until:
        time.sleep(0.05)
    return lock


@contextmanager
def holding(path: Path, refusal: str, *, remove: bool = False) -> Iterator[None]:
    """Hold a lock while this lasts, and `remove` its file then. Raises UsageError, with `refusal`: a living process holds it."""
    lock = lock_within_seconds(path)
    if lock is None:
        raise UsageError(refusal)
    try:
        yield
    finally:
        lock.release(remove=remove)


def is_held(path: Path) -> bool:
    """Return whether somebody holds the lock, or may, as where files cannot be locked; an absent file is free."""
    try:
        descriptor = _open_lock(path)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def holders(paths: Iterable[Path]) -> list[int]:
    """Return the processes of this machine that hold locks on these files, as far as the kernel tells."""
    pids: set[int] = set()
    with contextlib.suppress(OSError):
        inodes = {path.lstat().st_ino for path in paths if path.exists()}
        for line in Path("/proc/locks").read_text().splitlines():
            # 1: FLOCK  ADVISORY  WRITE 4242 00:1a:1234 0 EOF; after -> who waits for one
            fields = line.split()
            if fields[1] == "FLOCK" and int(fields[5].rpartition(":")[2]) in inodes:
                pids.add(int(fields[4]))
    return sorted(pid for pid in pids if pid > 0)  # one of a container's is not to be seen from another


class WaitingLine:
    """A line among processes, first come, first served, in a folder that may hold others.

    A place in it is a locked file whose name holds the start of the wait: a process that dies leaves the line.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._prefix = f"line-{name}-"
        self._turns = itertools.count()

    @contextmanager
    def place(self) -> Iterator[Lock]:
        """Stand in the line while this lasts. Raises OSError: the folder does not allow it."""
        place = None
        while place is None:  # another process that checks the line may hold the file for a moment, before we lock it
            ticket = f"{time.monotonic_ns():020d}-{os.getpid()}-{next(self._turns)}"
            place = try_lock(self._folder / (self._prefix + ticket))
        try:
            yield place
        finally:
            place.release(remove=True)

    def is_first(self, place: Lock) -> bool:
        """Return whether no living process came before."""
        for name in sorted(os.listdir(self._folder)):  # noqa: PTH208 - names are enough
            if not name.startswith(self._prefix) or name >= place.path.name:
                continue
            if is_held(self._folder / name):
                return False
            with contextlib.suppress(OSError):  # another user's, or somebody else was quicker
                (self._folder / name).unlink()
        return True


def _open(path: Path) -> int:
    while True:
        with contextlib.suppress(FileNotFoundError):
            return _open_lock(path)
        # Made anew or not at all: in a folder that all may write to, root may not open another's file to create it.
        with contextlib.suppress(FileExistsError):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _OPEN, 0o644)
            os.fchmod(descriptor, 0o644)
            return descriptor


def _open_lock(path: Path) -> int:
    try:
        descriptor = os.open(path, os.O_RDWR | _OPEN)  # network file systems lock no file that is only read
    except PermissionError:
        descriptor = os.open(path, os.O_RDONLY | _OPEN)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path} is not a regular file")
    return descriptor


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
