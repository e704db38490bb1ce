"""Sandboxes made ahead: each waits for its script, is used once, and never again."""

import atexit
import contextlib
import secrets
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Protocol

from sandbox import ExecutionRequest
from sandbox.instance import SPARE, OwnedFolder
from sandbox.running import Running
from sandbox.workspace import Workspace, remove_tree

__all__ = ["Spare", "Spares", "Waiting"]

_MOST = 2
"""Sandboxes that wait at a time: one for each view that a strategy goes to and fro between."""
_AFTER = 0.2
"""Seconds after which one is made: by then a script has started, and is not held up."""

Shape = Hashable


class Waiting(Protocol):
    """A sandbox in which nothing of a script's runs yet."""

    @property
    def alive(self) -> bool:
        """Whether it still waits."""
        ...

    def settle(self) -> None:
        """Return when all is mounted, so that folders may be moved; raises OSError if that fails."""
        ...

    def go(self, request: ExecutionRequest, workspace: Workspace) -> Running:
        """Start the script, which lies in the workspace.

        Raises:
            OSError: The machine does not allow it.
        """
        ...

    def discard(self) -> None:
        """Remove it, unless it was told to go: then whoever has what runs does."""
        ...


@dataclass(frozen=True)
class Spare:
    """One that waits, and its folder."""

    waiting: Waiting
    folder: OwnedFolder

    def discard(self) -> None:
        """Remove it and its folder."""
        self.waiting.discard()
        _remove(self.folder)


_Order = tuple[Future[Spare], threading.Event]
"""One that is made or will be, and what makes it begin at once."""


_ALL: weakref.WeakSet["Spares"] = weakref.WeakSet()
"""What must be released before this process ends; not by a finalizer, which may be called in the middle of anything."""


class Spares:
    """Makes the next sandbox while a script runs, as most scripts of a run need one like the last."""

    def __init__(self, begin: Callable[[ExecutionRequest, Workspace], Waiting]) -> None:
        """Take what begins one; it is called in a thread that lives as long as this."""
        self._begin = begin
        self._lock = threading.Lock()
        self._made: OrderedDict[Shape, _Order] = OrderedDict()
        self._going: list[Future[None]] = []
        # Of one thread: the kernel ends what bwrap runs with the thread that started it.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="spares")
        _ALL.add(self)

    def take(self, request: ExecutionRequest) -> Spare | None:
        """Return one in which this request can run, if there is one or it is in the making; it is the caller's then."""
        with self._lock:
            found = self._made.pop(_shape(request), None)
        if found is None:
            return None
        made, wanted = found
        wanted.set()
        try:
            spare = made.result()
        except (OSError, CancelledError):
            return None  # why, the caller's own attempt will tell
        if spare.waiting.alive:
            return spare
        spare.discard()
        return None

    def make(self, request: ExecutionRequest) -> None:
        """Begin to make one for a request like this, unless one is there."""
        if request.lease.gpus or request.writable_data:
            return  # a GPU belongs to one execution, and a copy of the data takes disk
        shape = _shape(request)
        with self._lock:
            if shape in self._made:
                return
            wanted = threading.Event()
            try:
                self._made[shape] = self._thread.submit(self._make, request, wanted), wanted
            except RuntimeError:
                return  # closed
            self._going = [one for one in self._going if not one.done()]
            surplus = [self._made.popitem(last=False)[1] for _ in range(len(self._made) - _MOST)]
            for made, unwanted in surplus:
                unwanted.set()
                self._going.append(self._thread.submit(_discard, made))

    def release(self) -> None:
        """Remove all that wait, and return when they are gone."""
        with self._lock:
            made, going = list(self._made.values()), list(self._going)
            self._made.clear()
        for one, unwanted in made:
            unwanted.set()
            _discard(one)
        wait(going)

    def _make(self, request: ExecutionRequest, wanted: threading.Event) -> Spare:
        wanted.wait(_AFTER)
        name = f"{SPARE}{secrets.token_hex(6)}"
        folder = OwnedFolder(request.out.absolute().with_name(name))
        request = replace(request, execution_id=name.removeprefix("."), out=folder.out, script="", environment={})
        with contextlib.ExitStack() as failed:
            failed.callback(_remove, folder)
            folder.make()
            waiting = self._begin(request, Workspace.make(folder.path))
            failed.callback(waiting.discard)
            waiting.settle()
            failed.pop_all()
        return Spare(waiting, folder)


def _remove(folder: OwnedFolder) -> None:
    remove_tree(folder.path)
    with contextlib.suppress(OSError):
        folder.out.rmdir()


def _shape(request: ExecutionRequest) -> Shape:
    """Return what must be known before there is a script."""
    limits = replace(request.limits, seconds=1.0, output_bytes=0)
    mounts = tuple(sorted(request.mounts.items()))
    return limits, request.view, mounts, request.out.absolute().parent, len(request.lease.cpus), request.lease.gpus


@atexit.register
def _release_all() -> None:
    for spares in list(_ALL):
        spares.release()


def _discard(made: Future[Spare]) -> None:
    if not made.cancel():
        with contextlib.suppress(OSError):
            made.result().discard()
