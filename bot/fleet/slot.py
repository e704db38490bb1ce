"""A slot: the process on a node in which an engine's executions run, one after the other; Ray starts it there.

It sees no label, key or secret: what it is given are scripts, views and limits.
"""

import asyncio
import os
import platform
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from bot.fleet.contents import FolderManifest, NodeCache
from sandbox import (
    Breach,
    ExecutionOutcome,
    ExecutionRequest,
    ExitReason,
    Lease,
    ResourceUsage,
    Sandbox,
    SandboxDescription,
)
from sandbox.choose import choose
from sandbox.environments import chosen_environment
from sandbox.execution import LocalSandbox, execute
from sandbox.gpu import open_gpus
from sandbox.instance import instance_of
from sandbox.leases import Leases, leases_folder
from sandbox.locks import Lock
from sandbox.settings import SandboxSettings
from sandbox.supervise import stop_signal
from sandbox.workspace import remove_tree
from state.errors import BotError
from state.files import sha256_of

SILENCE = 40.0
"""Seconds without a word of the engine after which an execution is ended: the engine is gone."""
_BUFFER = 1 << 20
"""Bytes of output between two questions of the engine; what is more is left out of what it watches, not of the log."""
_CORES = 60.0
"""Seconds to wait for cores that a bot on the node itself holds."""


@dataclass(frozen=True)
class SlotPlan:
    """What a slot runs scripts in, and with."""

    sandbox: str
    """Name of the back end."""
    settings: SandboxSettings
    environment: str | None
    """Name of the scripts' environment."""
    cpus: int
    gpus: int
    cache_bytes: int
    free_bytes: int
    """That must be free on the node's disk."""


@dataclass(frozen=True)
class SlotFacts:
    """A slot's node, as it is now."""

    node: str
    """Ray's id of it."""
    host: str
    problem: str | None
    """Why no script can run there, in a sentence."""
    description: SandboxDescription | None
    gpus: tuple[str, ...]
    """The slot's own: UUIDs, or Ray's numbers where the driver does not know them."""
    models: tuple[str, ...]
    """Names of its GPUs."""
    free_bytes: int
    now: datetime
    versions: Mapping[str, str]
    """Of Python, Ray and the bot."""

    @property
    def title(self) -> str:
        """The node's name for people; several nodes may have one host."""
        return f"{self.host} ({self.node[:8]})"


@dataclass(frozen=True)
class SlotProgress:
    """What happened since the engine asked last."""

    output: bytes
    usage: ResourceUsage | None
    outcome: ExecutionOutcome | None
    """Of the execution that has ended; its files are fetched with `read`."""
    files: Mapping[str, tuple[str, int]]
    """Digest and size of each kept file."""


class _Relay:
    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.breach: Breach | None = None
        self.heard = time.monotonic()
        self._output = bytearray()
        self._usage: ResourceUsage | None = None

    def output(self, chunk: bytes) -> None:
        with self.changed:
            self._output += chunk[: max(0, _BUFFER - len(self._output))]

    def usage(self, usage: ResourceUsage) -> Breach | None:
        with self.changed:
            self._usage = usage
            if time.monotonic() - self.heard > SILENCE:
                return Breach(ExitReason.STOPPED, f"No heartbeat from the engine for {SILENCE:.0f} seconds.")
            return self.breach

    def take(self) -> tuple[bytes, ResourceUsage | None]:
        output, usage = bytes(self._output), self._usage
        self._output.clear()
        self._usage = None
        return output, usage


class Slot:
    """Runs an execution at a time. Its methods are called from the engine, one after the other."""

    def __init__(self, plan: SlotPlan) -> None:
        self._plan = plan
        base = node_folder()
        self._cache = NodeCache(base / "cache", plan.cache_bytes)
        self._folder = base / "slots" / f"{os.getpid()}"
        remove_tree(self._folder)
        self._folder.mkdir(parents=True)
        self._out = self._folder / "execution"
        self._relay = _Relay()
        self._thread: threading.Thread | None = None
        self._outcome: ExecutionOutcome | None = None
        self._locks: list[Lock] = []
        self._occupied: Lease | None = None
        self._runner, self._holding = asyncio.Runner(), AsyncExitStack()
        self._sandbox: Sandbox | None = None
        self._problem: str | None = None
        try:
            environment = chosen_environment(plan.settings.environments_folder, plan.environment)
            own_environment = None if plan.environment is None else environment
            instance = instance_of(self._folder)
            self._sandbox = choose(
                plan.sandbox, trusted=False, instance=instance, settings=plan.settings, environment=own_environment
            )
        except (BotError, OSError) as error:
            self._problem = str(error)
        # Should this process be killed, it removes what its sandbox leaves.
        command = [sys.executable, "-m", "bot.fleet.slot_cleanup", str(self._folder)]
        self._clearing = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
        self._clearing.wait()  # it leaves a process behind, which reads what it has read

    def facts(self) -> SlotFacts:
        """Return what there is to know of the node."""
        import ray  # only a process that Ray started comes here

        free, problem = shutil.disk_usage(self._folder).free, self._problem
        if problem is None and free < self._plan.free_bytes:
            problem = f"only {free / 1e9:.1f} GB is free in {self._folder}"
        with open_gpus() as gpus_here:
            gpus, models = tuple(gpu.uuid for gpu in gpus_here.all()), tuple(gpu.name for gpu in gpus_here.all())
        if not gpus:
            gpus = tuple(f"gpu-{n}" for n in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if n)
        description = None if self._sandbox is None else self._sandbox.describe()
        versions = {
            "Python": platform.python_version(),
            "Ray": metadata.version("ray"),
            "kaggle-bot": metadata.version("kaggle-bot"),
        }
        return SlotFacts(
            str(ray.get_runtime_context().get_node_id()),
            socket.gethostname(),
            problem,
            description,
            gpus if self._plan.gpus else (),
            models,
            free,
            datetime.now(UTC),
            versions,
        )

    def missing_files(self, digest: str, manifest: FolderManifest | None = None) -> list[str] | None:
        """Return the files of a folder that the node lacks; None if it lacks none, and the folder is there to be used.

        Without a manifest the answer may be an empty list, which asks for one.
        """
        lock = self._cache.use(digest)
        if lock is None and manifest is not None:
            if missing := self._cache.missing(entry.digest for entry in manifest.files):
                return missing
            self._cache.make(manifest)
            lock = self._cache.use(digest)
            self._cache.prune()
        if lock is None:
            return []
        self._locks.append(lock)
        return None

    def write_pieces(self, pieces: list[tuple[str, int, bytes, bool]]) -> None:
        """Write pieces of files; see `NodeCache.write_piece`."""
        for digest, offset, chunk, last in pieces:
            self._cache.write_piece(digest, offset, chunk, last=last)

    def start(self, request: ExecutionRequest, view: str, mounts: Mapping[str, str]) -> None:
        """Start an execution; its view and mounts are digests of folders that are there."""
        self._relay, self._outcome = _Relay(), None
        folders = {name: self._cache.folder(digest) for name, digest in mounts.items()}
        request = replace(request, view=self._cache.folder(view), mounts=folders, out=self._out)
        self._thread = threading.Thread(target=self._run, args=(request,), name=request.execution_id)
        self._thread.start()

    def next(self, breach: Breach | None, seconds: float) -> SlotProgress:
        """Return what happened since the last call; waits a little for the end. A breach ends the execution."""
        relay, thread = self._relay, self._thread
        with relay.changed:
            relay.heard = time.monotonic()
            relay.breach = breach or relay.breach
        if thread is not None:
            thread.join(seconds)
        is_over = thread is None or not thread.is_alive()
        with relay.changed:
            output, usage = relay.take()
        if not is_over:
            return SlotProgress(output, usage, None, {})
        outcome = self._outcome or failed_outcome("the slot failed")
        files = {name: (sha256_of(path), path.stat().st_size) for name, path in outcome.files.items()}
        return SlotProgress(output, usage, replace(outcome, files={}), files)

    def occupy(self, seconds: float) -> Lease:
        """Hold cores and GPUs until `vacate`, for a lab's commands and the scripts that they have scored.

        Raises InfrastructureFailure: they did not come free in so many seconds.
        """
        self._occupied = self._runner.run(self._holding.enter_async_context(_own_cores(self._plan, seconds)))
        return self._occupied

    def vacate(self) -> None:
        """Give back what `occupy` took."""
        if self._occupied is not None:
            self._occupied = None
            self._runner.run(self._holding.aclose())

    def read(self, name: str, offset: int, size: int) -> bytes:
        """Return a piece of a kept file."""
        with (self._out / name).open("rb") as stream:
            stream.seek(offset)
            return stream.read(size)

    def finish(self) -> None:
        """Remove what an execution left, and let its folders go."""
        remove_tree(self._out)
        while self._locks:
            self._locks.pop().release()

    def _run(self, request: ExecutionRequest) -> None:
        if not isinstance(self._sandbox, LocalSandbox):
            self._outcome = failed_outcome(self._problem or "the node has no sandbox")
            return
        try:
            self._outcome = asyncio.run(_executed(self._sandbox, self._plan, self._occupied, request, self._relay))
        except (BotError, OSError) as error:
            self._outcome = failed_outcome(str(error))


# Outside of the class: Ray would take it for an asynchronous one, and a home's methods would wait for each other.
async def _executed(
    sandbox: LocalSandbox, plan: SlotPlan, occupied: Lease | None, request: ExecutionRequest, relay: _Relay
) -> ExecutionOutcome:
    """Run an execution in this thread, on cores that are held for it or already."""
    cores = _own_cores(plan, _CORES) if occupied is None else nullcontext(occupied)
    with stop_signal() as stop:
        async with cores as lease:
            return execute(sandbox, replace(request, lease=lease), stop, relay)


@asynccontextmanager
async def _own_cores(plan: SlotPlan, seconds: float) -> AsyncIterator[Lease]:
    """Hold what Ray's bookkeeping gave a slot: cores and GPUs that no other bot of the node uses."""
    with open_gpus() as gpus:
        own_gpus = gpus.all() if plan.gpus else ()
        leases = Leases(leases_folder(), gpus=gpus)
        async with leases.hold(plan.cpus, len(own_gpus), seconds=seconds) as lease:
            yield lease


def node_folder() -> Path:
    """Return where slots of this node keep their files: `BOT_FLEET`, or in the user's cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("BOT_FLEET") or cache / "kaggle-bot" / "fleet")


def failed_outcome(detail: str) -> ExecutionOutcome:
    """Return the outcome of an execution that the fleet could not run."""
    return ExecutionOutcome(ExitReason.INFRASTRUCTURE, None, 0.0, None, None, output="", files={}, detail=detail)
