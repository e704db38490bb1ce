"""A sandbox that runs each script where its lease is: on a node of the fleet, or on this machine."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from bot.fleet.cluster import Cluster, SlotLost
from bot.fleet.file_transfer import Sender
from bot.fleet.remote_lab import open_remote_lab
from bot.fleet.slot import SlotProgress, failed_outcome
from bot.fleet.slot_lease import AcquiredSlot, slot_of
from sandbox import Breach, ExecutionOutcome, ExecutionRequest, ExitReason, Lease, Sandbox, SandboxDescription, Watch
from sandbox.lab import LabHandle, LabRequest
from sandbox.output import CappedOutput, LiveLog
from sandbox.thread_join import join_thread
from sandbox.workspace import LOG_NAME, check_request
from state.files import sha256_of, write_whole
from state.redaction import Redactor

_WAIT = 0.5
"""Seconds for which a slot waits for the end of an execution before it answers."""


class FleetSandbox:
    """Runs scripts, and opens labs, where their lease is: on a node of a fleet, or in the sandbox that is here."""

    def __init__(self, local: Sandbox, cluster: Cluster) -> None:
        self._here, self._cluster = local, cluster
        self._sender = Sender(cluster)

    def quiet(self, lease: Lease, *, from_all: bool = False) -> AbstractContextManager[None]:
        """See `Sandbox`: idle executions of this machine alone are paused."""
        return self._here.quiet(lease, from_all=from_all)

    def describe(self) -> SandboxDescription:
        """Return what the back end cannot contain, which is the same on all nodes."""
        return self._here.describe()

    @asynccontextmanager
    async def open_lab(self, request: LabRequest) -> AsyncIterator[LabHandle]:
        """Open a lab where its lease is; see `Sandbox.open_lab`."""
        slot = slot_of(request.lease)
        opening = (
            self._here.open_lab(request)
            if slot is None
            else open_remote_lab(self._cluster, self._sender, slot, request)
        )
        async with opening as lab:
            yield lab

    async def run(self, request: ExecutionRequest, watch: Watch | None = None) -> ExecutionOutcome:
        """Run an execution where its lease is; see `Sandbox.run`. A node's death is an outcome INFRASTRUCTURE."""
        slot = slot_of(request.lease)
        if slot is None:
            return await self._here.run(request, watch)
        check_request(request)
        stop = threading.Event()
        with ThreadPoolExecutor(1, thread_name_prefix=request.execution_id) as thread:
            running = asyncio.get_running_loop().run_in_executor(thread, self._run, slot, request, watch, stop)
            return await join_thread(running, stop.set)

    def _run(
        self, slot: AcquiredSlot, request: ExecutionRequest, watch: Watch | None, stop: threading.Event
    ) -> ExecutionOutcome:
        try:
            request.out.mkdir(parents=True, exist_ok=True)
            for name in (*request.keep, LOG_NAME):
                (request.out / name).unlink(missing_ok=True)
            send = partial(self._sender.send, slot.handle, slot.facts.node, stop=stop)
            view, mounts = send(request.view), {name: send(folder) for name, folder in request.mounts.items()}
            # Neither paths of this machine nor the secrets that the redactor knows leave it.
            bare = replace(request, view=Path(), out=Path(), mounts={}, redactor=Redactor(), lease=Lease())
            self._cluster.call(slot.handle, "start", bare, view, mounts)
            progress = self._follow(slot, request, watch, stop)
            if progress.outcome is None:
                raise SlotLost("it returned no result")
            outcome = self._fetched(slot, request, progress, progress.outcome)
            self._cluster.call(slot.handle, "finish")
        except SlotLost as error:
            slot.lost = True
            return failed_outcome(f"Fleet node {slot.facts.title} was lost: {error}")
        except OSError as error:
            slot.lost = True
            return failed_outcome(f"Fleet node {slot.facts.title} could not run the script: {error}")
        return outcome

    def _follow(
        self, slot: AcquiredSlot, request: ExecutionRequest, watch: Watch | None, stop: threading.Event
    ) -> SlotProgress:
        """Pass on what is printed and used, and what the watch says of it, until the execution has ended."""
        output = CappedOutput(request.limits.output_bytes, request.redactor)
        log = LiveLog(request.out / LOG_NAME, output)
        breach: Breach | None = None
        while True:
            progress: SlotProgress = self._cluster.call(slot.handle, "next", breach, 0.0 if breach else _WAIT)
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

    def _fetched(
        self, slot: AcquiredSlot, request: ExecutionRequest, progress: SlotProgress, outcome: ExecutionOutcome
    ) -> ExecutionOutcome:
        kept_files = {}
        for name, (digest, size) in progress.files.items():
            partial = request.out / f".{name}.partial"
            self._sender.fetch(slot.handle, ("read", name), size, partial)
            if sha256_of(partial) != digest:
                raise OSError(f"corrupted transfer: {name} does not match its checksum")
            kept_files[name] = partial.replace(request.out / name)
        text = request.redactor.own(outcome.output, "a script's output")
        write_whole(request.out / LOG_NAME, text)
        return replace(outcome, output=text, files=kept_files)
