"""A lab's home: the process on a node in which one lab lives. The engine asks; the home never calls.

It takes up no cores: what runs in the lab does so on cores and GPUs that the engine holds there, while it runs.
"""

import itertools
import shutil
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from bot.fleet.contents import FolderManifest
from bot.fleet.slot import SILENCE, Slot, SlotPlan
from bot.fleet.untrusted_folder import UntrustedFolder
from sandbox.execution import LocalSandbox
from sandbox.lab import CommandResult, LabDied, LabRequest
from sandbox.lab.keeper import Keeper
from sandbox.lab.lab_socket import listen
from sandbox.lab.layout import prepare
from sandbox.lab.session import SearchPaths, order_of
from state.errors import BotError
from state.files import replacing

SOCKET = "socket"
"""Name of the socket in the folder `socket` of a lab."""
KEPT_FOLDERS = ("logs", "work")
"""What of a lab's folder is brought back to the engine."""
CONNECTIONS = 12
"""Of a lab's socket, at a time."""
_CHUNK = 256 * 1024
_PATIENCE = 20.0
"""Seconds that a connection is waited for at a time."""
_OPENING = 120.0


class LabProcess(Slot):
    """Its methods may be called side by side, as most wait."""

    _request: LabRequest
    _paths: SearchPaths
    _keeper: Keeper

    def __init__(self, plan: SlotPlan) -> None:
        super().__init__(plan)
        self._lab = self._folder / "labs" / "lab"
        for name in KEPT_FOLDERS:
            (self._lab / name).mkdir(parents=True)
        self._lab.parent.chmod(0o700)
        self._kept = {name: UntrustedFolder(self._lab / name) for name in KEPT_FOLDERS}
        self._listener = listen(self._lab / "socket" / SOCKET)
        self._connections: dict[int, socket.socket] = {}
        self._numbers = itertools.count(1)
        self._heard = 0.0

    def missing(self, digests: Sequence[str]) -> list[str]:
        """Return the digests of files that the node lacks."""
        return self._cache.missing(digests)

    def place(self, files: FolderManifest) -> None:
        """Write files that the node has into the lab's folder; raises OSError, also where it lacks one by now."""
        for name in files.folders:
            (self._lab / name).mkdir(parents=True, exist_ok=True)
        for entry in files.files:
            target = self._lab / entry.path
            target.parent.mkdir(parents=True, exist_ok=True)
            with replacing(target) as partial:
                shutil.copyfile(self._cache.file(entry.digest), partial)
                partial.chmod(0o644)

    def open_lab(self, request: LabRequest, digests: Mapping[str, str], own_mounts: Mapping[str, str]) -> str | None:
        """Open the lab; return why that was not possible, or None. Digests and own mounts are by their paths inside."""
        if not isinstance(self._sandbox, LocalSandbox):
            return self._problem or "the node has no sandbox"
        mounts = {name: self._cache.folder(digest) for name, digest in digests.items()}
        mounts |= {name: self._lab / path for name, path in own_mounts.items()}
        self._paths = self._sandbox.search_paths
        self._request = replace(request, folder=self._lab, mounts=mounts)
        try:
            work = prepare(self._request)
            self._keeper = Keeper(self._request, work, partial(self._sandbox.start_lab, self._request, work))
            self._keeper.open()
            self._keeper.opened.result(_OPENING)
        except (BotError, OSError) as error:
            return str(error)
        self._heard = time.monotonic()
        threading.Thread(target=self._watch, daemon=True).start()
        return None

    def _watch(self) -> None:
        while self._keeper.alive and time.monotonic() - self._heard < SILENCE:
            time.sleep(1)
        self._keeper.close()

    def run(self, number: int, command: str, seconds: float, cpus: Sequence[int], gpus: Sequence[str]) -> CommandResult:
        """Run a command to its end; see `LabHandle.run`."""
        order = order_of(self._request, self._paths, number, command, seconds, cpus, gpus)
        try:
            self._keeper.run(order)
            return order.result.result()
        except LabDied as died:
            return CommandResult("", None, 0.0, False, str(died), 0)

    def stop(self, number: int) -> None:
        """End a command, which then returns."""
        self._keeper.stop(number)

    def wait_idle(self) -> None:
        """Return when no process runs in the lab any more."""
        with suppress(LabDied):
            self._keeper.idle().result()

    def close_lab(self) -> None:
        """End all processes of the lab; its files stay."""
        self._keeper.close()
        self._keeper.closed.result()

    def accept(self, seconds: float) -> list[int] | None:
        """Return the number of a connection to the lab's socket, if one comes in so many seconds; None: the lab has ended."""
        self._heard = time.monotonic()
        if not self._keeper.alive:
            return None
        if len(self._connections) >= CONNECTIONS:
            time.sleep(min(seconds, 1.0))
            return []
        self._listener.settimeout(seconds)
        try:
            connection, _ = self._listener.accept()
        except TimeoutError:
            return []
        connection.settimeout(_PATIENCE)
        number = next(self._numbers)
        self._connections[number] = connection
        return [number]

    def receive(self, number: int) -> bytes | None:
        """Return what came over a connection, nothing at its end; None: nothing came for a while."""
        try:
            return self._connections[number].recv(_CHUNK)
        except TimeoutError:
            return None
        except (OSError, KeyError):
            return b""

    def send(self, number: int, content: bytes) -> bool:
        """Send over a connection; return whether somebody was there to take it."""
        try:
            self._connections[number].sendall(content)
        except (OSError, KeyError):
            return False
        return True

    def hang_up(self, number: int) -> None:
        """End a connection; who waits for it hears its end."""
        if (connection := self._connections.pop(number, None)) is not None:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    def manifest_of(self, name: str, largest: int | None, max_files: int) -> FolderManifest:
        """Return what a folder of the lab's holds; see `UntrustedFolder.manifest`."""
        return self._kept[name].manifest(largest, max_files)

    def read_file(self, name: str, path: str, offset: int, size: int) -> bytes:
        """Return a piece of a file there; empty where the file is gone meanwhile."""
        return self._kept[name].read(path, offset, size)
