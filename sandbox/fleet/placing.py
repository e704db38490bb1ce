"""A sandbox that runs each script where its lease is: on a node of the fleet, or on this machine."""

import asyncio
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path

from sandbox import Breach, ExecutionRequest, ExitReason, Lease, Outcome, Sandbox, SandboxDescription, Watch
from sandbox.collect import write_atomically
from sandbox.fleet.cluster import Cluster, SlotLost
from sandbox.fleet.contents import Contents, Manifest, digest_of
from sandbox.fleet.held import HeldSlot, PlacedLease
from sandbox.fleet.slot import Progress
from sandbox.lab import Lab, LabRequest
from sandbox.output import CappedOutput, LiveLog
from sandbox.workspace import LOG_NAME, check_request
from state.redaction import Redactor

_WAIT = 0.5
"""Seconds for which a slot waits for the end of an execution before it answers."""
_PIECE = 8 * 1024**2
"""Bytes that are sent at a time."""
_ATTEMPTS = 3
"""Times that a folder is sent, should the node's cache be cleared meanwhile."""
_SENDING = 120.0
"""Seconds in which a piece must have arrived."""


class FleetSandbox:
    """Runs scripts on nodes of a fleet; labs, and scripts with a lease of this machine, run in the sandbox that is here."""

    def __init__(self, here: Sandbox, cluster: Cluster) -> None:
        self._here, self._cluster = here, cluster
        self._contents = Contents()
        self._sending: dict[tuple[str, Path], threading.Lock] = defaultdict(threading.Lock)
        """By node and folder, so that two scripts that start together send it once."""

    def describe(self) -> SandboxDescription:
        """Return what the back end cannot contain, which is the same on all nodes."""
        return self._here.describe()

    def open_lab(self, request: LabRequest) -> AbstractAsyncContextManager[Lab]:
        """Open a lab on this machine."""
        return self._here.open_lab(request)

    async def run(self, request: ExecutionRequest, watch: Watch | None = None) -> Outcome:
        """Run an execution where its lease is; see `Sandbox.run`. A node's death is an outcome INFRASTRUCTURE."""
        slot = request.lease.slot if isinstance(request.lease, PlacedLease) else None
        if slot is None:
            return await self._here.run(request, watch)
        check_request(request)
        stop = threading.Event()
        with ThreadPoolExecutor(1, thread_name_prefix=request.execution_id) as thread:
            running = asyncio.get_running_loop().run_in_executor(thread, self._run, slot, request, watch, stop)
            try:
                return await asyncio.shield(running)
            except asyncio.CancelledError:
                stop.set()
                while not running.done():
                    try:
                        await asyncio.wait({running})
                    except asyncio.CancelledError:
                        continue  # cancelled again: the code must be gone nevertheless
                raise

    def _run(self, slot: HeldSlot, request: ExecutionRequest, watch: Watch | None, stop: threading.Event) -> Outcome:
        try:
            request.out.mkdir(parents=True, exist_ok=True)
            for name in (*request.keep, LOG_NAME):
                (request.out / name).unlink(missing_ok=True)
            view = self._send(slot, request.view, stop)
            mounts = {name: self._send(slot, folder, stop) for name, folder in request.mounts.items()}
            # Neither paths of this machine nor the secrets that the redactor knows leave it.
            sent = replace(request, view=Path(), out=Path(), mounts={}, redactor=Redactor(), lease=Lease())
            self._cluster.call(slot.handle, "start", sent, view, mounts)
            ended = self._follow(slot, request, watch, stop)
            if ended.outcome is None:
                raise SlotLost("it gave no outcome")
            outcome = self._fetched(slot, request, ended, ended.outcome)
            self._cluster.call(slot.handle, "finish")
        except SlotLost as error:
            slot.lost = True
            return _failure(f"Node {slot.facts.host} of the fleet was lost: {error}")
        except OSError as error:
            slot.lost = True
            return _failure(f"It could not be run on node {slot.facts.host} of the fleet: {error}")
        return outcome

    def _send(self, slot: HeldSlot, folder: Path, stop: threading.Event) -> str:
        """Send what a node lacks of a folder; return the folder's digest."""
        manifest = self._contents.manifest(folder)
        with self._sending[slot.facts.node, folder]:
            lacking = self._cluster.call(slot.handle, "lacks", manifest.digest)
            for _ in range(_ATTEMPTS):
                if lacking is None:
                    return manifest.digest
                for batch in _pieces(folder, manifest, set(lacking)):
                    if stop.is_set():
                        raise SlotLost("the bot was asked to stop")
                    self._cluster.call(slot.handle, "put", batch, seconds=_SENDING)
                lacking = self._cluster.call(slot.handle, "lacks", manifest.digest, manifest, seconds=_SENDING)
            if lacking is None:
                return manifest.digest
        raise OSError(f"{folder} could not be kept there")

    def _follow(
        self, slot: HeldSlot, request: ExecutionRequest, watch: Watch | None, stop: threading.Event
    ) -> Progress:
        """Pass on what is printed and used, and what the watch says of it, until the execution has ended."""
        output = CappedOutput(request.limits.output_bytes, request.redactor)
        log = LiveLog(request.out / LOG_NAME, output)
        breach: Breach | None = None
        while True:
            progress: Progress = self._cluster.call(slot.handle, "next", breach, 0.0 if breach else _WAIT)
            if progress.output:
                output.add(progress.output)
                log.update(time.monotonic())
                if watch:
                    watch.output(progress.output)
            if progress.outcome is not None:
                return progress
            if progress.usage and watch:
                breach = breach or watch.usage(progress.usage)
            if stop.is_set():
                breach = breach or Breach(ExitReason.STOPPED, "The bot was asked to stop.")

    def _fetched(self, slot: HeldSlot, request: ExecutionRequest, ended: Progress, outcome: Outcome) -> Outcome:
        """Return the outcome with its files, which are now here."""
        kept = {}
        for name, (digest, size) in ended.files.items():
            partial = request.out / f".{name}.partial"
            with partial.open("wb") as stream:
                while stream.tell() < size:
                    piece = self._cluster.call(slot.handle, "read", name, stream.tell(), _PIECE, seconds=_SENDING)
                    if not piece:
                        raise OSError(f"{name} ended early")
                    stream.write(piece)
            if digest_of(partial) != digest:
                raise OSError(f"what arrived of {name} is not its content")
            kept[name] = partial.replace(request.out / name)
        text = request.redactor.own(outcome.output, "a script's output")
        write_atomically(request.out / LOG_NAME, text)
        return replace(outcome, output=text, kept=kept)


def _pieces(folder: Path, manifest: Manifest, lacking: set[str]) -> Iterator[list[tuple[str, int, bytes, bool]]]:
    """Yield what a node lacks in batches: small files together, large ones in pieces."""
    batch: list[tuple[str, int, bytes, bool]] = []
    room = _PIECE
    for entry in manifest.files:
        if entry.digest not in lacking:
            continue
        lacking.remove(entry.digest)
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


def _failure(detail: str) -> Outcome:
    return Outcome(ExitReason.INFRASTRUCTURE, None, 0.0, None, None, output="", kept={}, detail=detail)
