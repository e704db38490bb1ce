"""The files of a lab on a node: those that the engine wrote go there, those that the lab leaves come home."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from bot.fleet.cluster import Cluster
from bot.fleet.contents import FolderFile, FolderManifest
from bot.fleet.file_transfer import ATTEMPTS, SEND_SECONDS, Sender
from bot.fleet.lab_process import KEPT_FOLDERS, LabProcess
from bot.fleet.slot_lease import AcquiredSlot
from bot.fleet.untrusted_folder import UntrustedFolder, make_alike
from sandbox import Lease
from sandbox.lab import LabDied, LabRequest
from state.files import sha256_of
from state.redaction import Redactor

_STARTING, _READING = 180.0, 600.0


class LabFiles:
    """The home of a lab with its files, there and here; its methods wait, so call them from threads.

    They raise SlotLost where the home is lost, and OSError where a disk failed.
    """

    def __init__(self, cluster: Cluster, sender: Sender, slot: AcquiredSlot, request: LabRequest) -> None:
        self._cluster, self._sender, self.slot, self.request = cluster, sender, slot, request
        self.title, self.node = slot.facts.title, slot.facts.node
        self.stop = threading.Event()
        """Set when nothing more is to be sent."""
        self._home: Any = None
        self._lock = threading.Lock()
        folder = request.folder
        own_mounts = {name: path for name, path in request.mounts.items() if path.is_relative_to(folder)}
        self._own = {name: str(path.relative_to(folder)) for name, path in own_mounts.items()}
        """What lies in the lab's own folder, and may change while it is open: its path there by that inside."""
        self._read = {name: UntrustedFolder(folder / name) for name in {*KEPT_FOLDERS, *self._own.values()}}
        self._there: dict[str, str] = {}
        """Digests of what the node has in the lab's folder, by path."""

    def call(self, method: Callable[..., Any], *arguments: Any, seconds: float = 60.0) -> Any:
        """Have the home do something, one of the methods of `LabProcess`; see `Cluster.call`."""
        return self._cluster.call(self._home, method.__name__, *arguments, seconds=seconds)

    def open(self) -> None:
        """Send what the lab needs, and have it opened; raises LabDied."""
        self._home = self._cluster.home(self.slot.plan, self.node)
        self._cluster.get(self._cluster.begin(self._home), _STARTING)
        for name in KEPT_FOLDERS:
            (self.request.folder / name).mkdir(parents=True, exist_ok=True)
        outside = {name: path for name, path in self.request.mounts.items() if name not in self._own}
        send = partial(self._sender.send, self._home, self.node, stop=self.stop)
        sent_mounts = {name: send(path) for name, path in outside.items()}
        self.show(first=True)
        # Neither paths of this machine nor the secrets that the redactor knows leave it.
        bare = replace(self.request, folder=Path(), mounts={}, redactor=None, lease=Lease())
        if (problem := self.call(LabProcess.open_lab, bare, sent_mounts, self._own, seconds=_STARTING)) is not None:
            raise LabDied(f"{problem} (fleet node {self.title})")

    def show(self, *, first: bool = False) -> None:
        """Send what the engine wrote for the lab since the last time; the first time, what the lab left before as well."""
        with self._lock:
            files, folders = list[FolderFile](), list[str]()
            for name, foreign in self._read.items():
                path = self.request.folder / name
                if path.is_file():
                    files.append(FolderFile(name, sha256_of(path), path.stat().st_size))
                elif first or name != "work":
                    manifest = foreign.manifest()
                    folders += [name, *(f"{name}/{f}" for f in manifest.folders)]
                    own_files = [f for f in manifest.files if first or name != "logs" or not _is_commands(f)]
                    files += [replace(f, path=f"{name}/{f.path}") for f in own_files]
            new = [f for f in files if self._there.get(f.path) != f.digest]
            if new or first:
                self._send(FolderManifest(tuple(new), tuple(folders)))

    def _send(self, new: FolderManifest) -> None:
        for attempt in range(1, ATTEMPTS + 1):
            missing = self.call(LabProcess.missing, [f.digest for f in new.files])
            self._sender.send_files(self._home, self.request.folder, new, set(missing), self.stop)
            try:
                self.call(LabProcess.place, new, seconds=SEND_SECONDS)
                break
            except OSError:  # the node's cache may have been cleared meanwhile
                if attempt == ATTEMPTS:
                    raise
        self._there |= {f.path: f.digest for f in new.files}

    def bring(self, largest: int | None = None) -> None:
        """Have the folder here be as it is there; files larger than so many bytes stay as they were brought last."""
        with self._lock:
            for name in KEPT_FOLDERS:
                manifest: FolderManifest = self.call(
                    LabProcess.manifest_of, name, largest, self.request.limits.disk_bytes, seconds=_READING
                )
                if name == "work":
                    make_alike(self.request.folder / name, manifest)
                self._fetch(name, [f for f in manifest.files if name == "work" or _is_commands(f)])

    def _fetch(self, name: str, files: Sequence[FolderFile]) -> None:
        """Fetch what is not here yet; what changes meanwhile, as the lab may go on to write, stays as it was."""
        redactor, arriving = self.request.redactor or Redactor(), self.request.folder / "arriving"
        for entry in files:
            path, target = f"{name}/{entry.path}", self.request.folder / name / entry.path
            if not entry.digest or (self._there.get(path) == entry.digest and target.is_file()):
                continue
            self._sender.fetch(self._home, (LabProcess.read_file.__name__, name, entry.path), entry.size, arriving)
            if sha256_of(arriving) == entry.digest:
                if name == "logs":
                    arriving.write_bytes(redactor.own_bytes(arriving.read_bytes()))
                target.parent.mkdir(parents=True, exist_ok=True)
                arriving.replace(target)
                self._there[path] = entry.digest
        arriving.unlink(missing_ok=True)

    def close(self) -> None:
        """End all processes of the lab, and bring everything home."""
        self.call(LabProcess.close_lab)
        self.bring()

    def end(self) -> None:
        """End the home."""
        if self._home is not None:
            self._cluster.end(self._home)


def _is_commands(log: FolderFile) -> bool:
    """Return whether a log is a command's, and so written on the node; what scored scripts printed is the engine's."""
    return Path(log.path).stem.isdecimal()
