"""Leases: cores and GPUs that belong to one execution at a time, among all bots of this machine."""

import asyncio
import math
import os
import stat
import time
from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

import psutil

from sandbox import Lease, Sandbox
from sandbox.gpu import Gpus
from sandbox.lab import LabPlace
from sandbox.locks import Lock, WaitingLine, holders, try_lock
from sandbox.settings import SandboxSettings
from sandbox.share import Share, share_of
from state.errors import InfrastructureFailure
from state.words import plural

_FOLDER = "bot-leases"
_PAUSE = 0.03
_SAY_AFTER = 0.5
"""Seconds of waiting that need not be reported."""
_SAY_AGAIN = 60.0
"""Seconds after which a longer wait is reported again, as another may be the holder."""
_MEMORY_BACK = 30.0
"""Seconds that a GPU's memory may take to come back after an execution."""
_SLACK = 256 * 1024**2
"""Bytes by which a GPU's memory may differ even if nothing of the execution is left."""

Name = TypeVar("Name", bound=Hashable)
HeldLocks = Mapping[Name, Sequence[Lock]]


class NoneFree(InfrastructureFailure):
    """What was to be leased did not come free in time."""


def leases_folder() -> Path:
    """Return the folder that all bots of this machine share, whichever user they run as.

    `BOT_LEASES` names another, for bots that must not share. Anybody may make files in it, as in /tmp: a
    user who wants to keep the bots of others waiting can.

    Raises:
        OSError: It cannot be made, or something else lies there.
    """
    if configured := os.environ.get("BOT_LEASES"):
        folder = Path(configured)
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    places = (Path("/run/lock"), Path("/tmp"))  # noqa: S108 - which one must not depend on the user's environment
    folder = next((place for place in places if _is_everybodys(place)), places[-1]) / _FOLDER
    try:
        folder.mkdir(0o700)
        folder.chmod(0o1777)
    except FileExistsError:
        if not stat.S_ISDIR(folder.lstat().st_mode):
            raise NotADirectoryError(f"{folder} is not a folder; remove it") from None
    return folder


class Leases:
    """Gives each execution cores and GPUs of its own, first come, first served.

    A lease is a lock on a file, one file for each core and each GPU, so that the kernel gives it back when the bot dies.
    """

    def __init__(
        self, folder: Path, *, cores: Iterable[int] | None = None, gpus: Gpus | None = None, gpu_shares: int = 1
    ) -> None:
        """Take the resources to lease.

        If not given, cores are those that this process may use, and there are no GPUs. `gpu_shares` executions may
        share a GPU.
        """
        self._folder = folder
        self._cores = sorted(os.sched_getaffinity(0) if cores is None else cores)
        self._gpus = gpus or Gpus()
        self._shares = gpu_shares
        self._lines = {kind: WaitingLine(folder, kind) for kind in ("gpu", "cpu")}
        self._withheld: dict[str, tuple[Sequence[Lock], int | None]] = {}

    @property
    def gpus(self) -> int:
        """How many GPUs there are."""
        return len(self._gpus.all())

    @property
    def usual_gpus(self) -> int:
        """How many GPUs an execution holds where nobody says: one if there is one."""
        return min(1, self.gpus)

    @property
    def gpu_models(self) -> tuple[str, ...]:
        """Name and memory of each kind of GPU that there is."""
        models = (f"{gpu.name} with {gpu.memory_bytes / 1024**3:.0f} GiB" for gpu in self._gpus.all())
        return tuple(dict.fromkeys(models))

    @property
    def here(self) -> "Leases":
        """The leases of this machine: these, unless they are a fleet's."""
        return self

    def placing(self, sandbox: Sandbox) -> tuple[Sandbox, "Leases"]:
        """Return the sandbox that runs scripts with these leases, and the leases for it; only a fleet has others."""
        return sandbox, self

    def share(
        self, settings: SandboxSettings, out: Path, *, parallel: int, cpus: int | None = None, gpus: int = 0
    ) -> Share:
        """Return what one script may use; see `sandbox.share.share_of`.

        Raises UsageError: no machine has as many cores and GPUs; only a fleet raises it.
        """
        return share_of(settings, out, parallel=parallel, cpus=cpus)

    def room(self, share: Share, *, parallel: int, gpus: int = 0) -> int:
        """Return for how many runs there is room at a time: here for one, whose scripts share all that there is."""
        return 1

    @asynccontextmanager
    async def hold(
        self,
        cpus: int,
        gpus: int = 0,
        *,
        seconds: float,
        say: Callable[[str], None] | None = None,
        memory_bytes: int = 0,
        lab: LabPlace | None = None,
        share_after: float = math.inf,
    ) -> AsyncIterator[Lease]:
        """Hold that many cores (all of them, if there are fewer) and GPUs; wait for them if need be.

        `seconds` is the longest time to wait. After `share_after` seconds of it the cores that are free will do, or else one
        that another holds. And `say` receives a sentence on a wait, or on a GPU that is withheld.
        Only a fleet counts `memory_bytes` and the place of the `lab` whose commands it is for.

        Raises:
            InfrastructureFailure: They did not come free in time, there are too few GPUs, or locks do not work.
        """
        if gpus > self.gpus:
            raise InfrastructureFailure(f"Cannot lease {gpus} GPUs: this machine has {self.gpus}.")
        deadline = time.monotonic() + seconds
        count = max(1, min(cpus, len(self._cores)))
        async with AsyncExitStack() as stack:
            uuids: tuple[str, ...] = ()
            # GPUs always first, against deadlock: a holder of a GPU that waits for cores never waits for one who wants it.
            if gpus:
                locks = await self._first_come("gpu", lambda: self._try_gpus(gpus), deadline, say, plural(gpus, "GPU"))
                uuids = tuple(locks)
                used_bytes = {uuid: self._gpus.used_bytes(uuid) for uuid in uuids}
                stack.push_async_callback(self._give_back_gpus, locks, used_bytes, say)
            patience = min(deadline, time.monotonic() + share_after)
            try:
                cores = await self._first_come(
                    "cpu", lambda: self._try_cores(count), patience, say, plural(count, "core")
                )
            except NoneFree:
                if share_after == math.inf:
                    raise
                cores = next(filter(None, map(self._try_cores, range(count - 1, 0, -1))), {})
                if say:
                    say("running on the free cores" if cores else "running on a core that other processes also use")
            stack.callback(_release, cores)
            yield Lease(tuple(cores) or (self._cores[os.getpid() % len(self._cores)],), uuids)

    async def _first_come(
        self,
        kind: str,
        attempt: Callable[[], HeldLocks[Name] | None],
        deadline: float,
        say: Callable[[str], None] | None,
        subject: str,
    ) -> HeldLocks[Name]:
        """Wait in line, then take everything together as soon as it is free."""
        start = time.monotonic()
        report_at = start + _SAY_AFTER
        try:
            line = self._lines[kind]
            with line.place() as place:
                while not line.is_first(place) or (holding := attempt()) is None:
                    now = time.monotonic()
                    if now >= deadline:
                        raise NoneFree(f"{subject} did not become free in {now - start:.0f} s{self._shortage(kind)}.")
                    if say and now >= report_at:
                        since = datetime.now().astimezone() - timedelta(seconds=now - start)
                        say(f"waiting since {since:%H:%M:%S} for {subject}{self._shortage(kind)}")
                        report_at = now + _SAY_AGAIN
                    await asyncio.sleep(min(_PAUSE, deadline - now))
                return holding
        except OSError as error:
            raise InfrastructureFailure(f"Leases cannot be stored in {self._folder}: {error}") from error

    def _try_cores(self, count: int) -> HeldLocks[int] | None:
        def attempt(core: int) -> Sequence[Lock] | None:
            lock = try_lock(self._folder / f"cpu-{core}")
            return None if lock is None else [lock]

        return _all_or_none(self._cores, attempt, count)

    def _try_gpus(self, count: int) -> HeldLocks[str] | None:
        self._try_withheld()
        return _all_or_none([gpu.uuid for gpu in self._gpus.all()], self._try_gpu, count)

    def _try_gpu(self, uuid: str) -> Sequence[Lock] | None:
        """Take a GPU, or a share of one: shares hold the GPU's own lock together, which keeps others from having it alone."""
        if self._shares == 1 and self._gpus.processes(uuid):
            return None
        whole_gpu = try_lock(self._folder / f"gpu-{uuid}", shared=self._shares > 1)
        if whole_gpu is None or self._shares == 1:
            return None if whole_gpu is None else [whole_gpu]
        for share in range(self._shares):
            if lock := try_lock(self._folder / f"gpu-{uuid}.{share}"):
                return [whole_gpu, lock]
        whole_gpu.release()
        return None

    async def _give_back_gpus(
        self, locks_by_gpu: HeldLocks[str], used_bytes: Mapping[str, int | None], say: Callable[[str], None] | None
    ) -> None:
        """Release GPUs whose memory was freed; withhold the others until theirs is."""
        for uuid, locks in locks_by_gpu.items():
            self._withheld[uuid] = (locks, used_bytes[uuid])
        deadline = time.monotonic() + _MEMORY_BACK
        while self._try_withheld() & locks_by_gpu.keys() and time.monotonic() < deadline:
            await asyncio.sleep(_PAUSE)
        for uuid in locks_by_gpu.keys() & self._withheld.keys():
            if say:
                say(f"GPU {uuid} is withheld: a finished execution did not release its memory")

    def _try_withheld(self) -> set[str]:
        """Release the GPUs whose memory was freed, and return the others."""
        for uuid, (locks, before) in list(self._withheld.items()):
            now = self._gpus.used_bytes(uuid)
            # If several share a GPU, its memory shows nothing about one of them.
            if self._shares > 1 or now is None or before is None or now <= before + _SLACK:
                del self._withheld[uuid]
                _release({uuid: locks})
        return set(self._withheld)

    def _shortage(self, kind: str) -> str:
        """Return which other process has the cores, or why a GPU without a lease is not to be had, as the end of a sentence."""
        if kind == "cpu":
            holder_pids = holders(self._folder / f"cpu-{core}" for core in self._cores)
            names = [_process_name(pid) for pid in holder_pids if pid != os.getpid()]
            return f" (in use by {' and '.join(names)})" if names else ""
        reasons = [f"{uuid} still holds memory from an execution that has ended" for uuid in self._withheld]
        if self._shares == 1:
            reasons += [
                f"{gpu.uuid} is used by process {pids[0]}"
                for gpu in self._gpus.all()
                if gpu.uuid not in self._withheld and (pids := self._gpus.processes(gpu.uuid))
            ]
        return f" ({'; '.join(reasons)})" if reasons else ""


def _process_name(pid: int) -> str:
    """Return what a person calls a process, such as `bot run (process 4242)`."""
    try:
        words = psutil.Process(pid).cmdline()
    except psutil.Error:
        words = []
    if not words:  # it has just ended, or is another user's that hides it
        return f"process {pid}"
    bot = next((place for place, word in enumerate(words) if Path(word).name == "bot"), None)
    name = Path(words[0]).name if bot is None else " ".join(["bot", *words[bot + 1 : bot + 2]])
    return f"{name} (process {pid})"


def _all_or_none(
    names: Iterable[Name], attempt: Callable[[Name], Sequence[Lock] | None], count: int
) -> HeldLocks[Name] | None:
    """Take `count` of them, in their order, or none."""
    locks_by_name: dict[Name, Sequence[Lock]] = {}
    for name in names:
        if (locks := attempt(name)) is not None:
            locks_by_name[name] = locks
        if len(locks_by_name) == count:
            return locks_by_name
    _release(locks_by_name)
    return None


def _release(locks_by_name: HeldLocks[Name]) -> None:
    for locks in locks_by_name.values():
        for lock in locks:
            lock.release()


def _is_everybodys(folder: Path) -> bool:
    """Return whether it is a folder like /tmp: all may write, and nobody may remove others' files."""
    try:
        mode = folder.stat().st_mode
    except OSError:
        return False
    return stat.S_ISDIR(mode) and mode & 0o1777 == 0o1777
