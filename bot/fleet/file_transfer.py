"""Sending files to a node: each once, by its content, into the node's cache."""

import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bot.fleet.cluster import Cluster, SlotLost
from bot.fleet.contents import Contents, FolderManifest
from bot.fleet.slot import Slot

_PIECE = 8 * 1024**2
"""Bytes that are sent at a time."""
SEND_SECONDS = 120.0
"""Seconds in which a piece must have arrived."""
ATTEMPTS = 3
"""Times that a folder is sent, should the node's cache be cleared meanwhile."""


class Sender:
    """Sends to the nodes of one cluster; its methods wait, so call them from threads."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._contents = Contents()
        self._sending: dict[tuple[str, Path], threading.Lock] = defaultdict(threading.Lock)
        """By node and folder, so that two scripts that start together send it once."""

    def send(self, slot: Any, node: str, folder: Path, stop: threading.Event) -> str:
        """Send what a node lacks of a folder, which then stays there while its slot wants it; return the folder's digest.

        Raises:
            SlotLost: the slot is lost, or the bot was asked to stop.
            OSError: the folder cannot be read, or cannot be kept there.
        """
        manifest = self._contents.manifest(folder)
        with self._sending[node, folder]:
            missing = self._cluster.call(slot, Slot.missing_files.__name__, manifest.digest)
            for _ in range(ATTEMPTS):
                if missing is None:
                    return manifest.digest
                self.send_files(slot, folder, manifest, set(missing), stop)
                missing = self._cluster.call(
                    slot, Slot.missing_files.__name__, manifest.digest, manifest, seconds=SEND_SECONDS
                )
            if missing is None:
                return manifest.digest
        raise OSError(f"{folder} could not be stored on the node")

    def send_files(
        self, slot: Any, folder: Path, manifest: FolderManifest, missing: set[str], stop: threading.Event
    ) -> None:
        """Send the files of a folder whose digests are lacking; raises as `send`."""
        for batch in _pieces(folder, manifest, missing):
            if stop.is_set():
                raise SlotLost("the bot was asked to stop")
            self._cluster.call(slot, Slot.write_pieces.__name__, batch, seconds=SEND_SECONDS)

    def fetch(self, slot: Any, read: Sequence[str], size: int, target: Path) -> None:
        """Fetch a file of `size` bytes in pieces, by a slot's method and its first arguments; offset and size come last."""
        with target.open("wb") as stream:
            while stream.tell() < size:
                piece = self._cluster.call(slot, *read, stream.tell(), _PIECE, seconds=SEND_SECONDS)
                if not piece:
                    return
                stream.write(piece)


def _pieces(folder: Path, manifest: FolderManifest, missing: set[str]) -> Iterator[list[tuple[str, int, bytes, bool]]]:
    """Yield what a node lacks in batches: small files together, large ones in pieces."""
    batch: list[tuple[str, int, bytes, bool]] = []
    room = _PIECE
    for entry in manifest.files:
        if entry.digest not in missing:
            continue
        missing.remove(entry.digest)
        with (folder / entry.path).open("rb") as stream:
            offset, last = 0, False
            while not last:
                piece = stream.read(room)
                last = offset + len(piece) >= entry.size or not piece
                batch.append((entry.digest, offset, piece, last))
                offset, room = offset + len(piece), room - len(piece)
                if room <= 0:
                    yield batch
                    batch, room = [], _PIECE
    if batch:
        yield batch
