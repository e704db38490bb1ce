"""Leases of a fleet: a slot on some node, for one execution at a time, in place of cores and GPUs of this machine."""

import asyncio
import copy
import math
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from bot.fleet.cluster import Cluster, SlotLost
from bot.fleet.fleet_sandbox import FleetSandbox
from bot.fleet.slot import Slot, SlotFacts, SlotPlan
from bot.fleet.slot_lease import AcquiredSlot, RemoteLease, SlotRequest
from sandbox import Lease, Sandbox, SandboxDescription
from sandbox.lab import LabPlace
from sandbox.leases import Leases
from sandbox.settings import FleetSettings, SandboxSettings
from sandbox.share import Share
from state.errors import InfrastructureFailure, UsageError

_CHECK_SECONDS = 0.5
"""Seconds between two checks whether a slot was found."""
_SAY_AFTER = 1.0
"""Seconds of waiting that need not be reported."""
_LEFT_ALONE = 60.0
"""Seconds for which a node is not used on which a slot was lost."""
_UNFIT = 600.0
"""Seconds for which a node is not used that cannot run scripts."""
_IDLE = 20.0
"""Seconds for which a slot is kept for the next execution: it takes a second or more to start one."""
_MAX_LOST_SLOTS = 3
"""Slots in a row that are lost before they began, after which no more are asked for."""
_MAX_THREADS = 512
_KEPT_MEMORY = 0.9
"""Share of what Ray may give away of a node's memory, for scripts; the rest is for the slots themselves."""

T = TypeVar("T")
Say = Callable[[str], None] | None


class Fleet(Leases):
    """Leases slots of a cluster, for scripts and for the commands of labs."""

    def __init__(self, cluster: Cluster, settings: FleetSettings, scripts: SandboxSettings, local: Leases) -> None:
        """Take the cluster; the image and the runtime of `scripts` hold on all nodes."""
        self.cluster = cluster
        self._settings, self._scripts, self._here = settings, scripts, local
        self._description: SandboxDescription | None = None
        self._idle: list[AcquiredSlot] = []
        self._held: list[AcquiredSlot] = []
        self._without: dict[str, float] = {}
        """Nodes that are not used, and until when."""
        self._wanting: list[SlotRequest] = []
        """Who waits for a new slot, in the order in which they came; what is given back meanwhile is theirs."""
        self._resting: set[asyncio.Task[None]] = set()
        self._threads = ThreadPoolExecutor(_MAX_THREADS, thread_name_prefix="fleet")

    @property
    def here(self) -> Leases:
        """The leases of this machine."""
        return self._here

    @property
    def gpus(self) -> int:
        """How many GPUs the node has that has most."""
        return max((node.gpus for node in self.cluster.nodes()), default=0)

    @property
    def usual_gpus(self) -> int:
        """How many GPUs an execution holds where nobody says: one if every node that runs scripts has one."""
        return min((min(1, node.gpus) for node in self.cluster.nodes() if node.cpus), default=0)

    @property
    def gpu_models(self) -> tuple[str, ...]:
        """Names of the GPUs of the slots that there are."""
        return tuple(dict.fromkeys(model for s in self._idle for model in s.facts.models))

    def placing(self, sandbox: Sandbox) -> tuple[Sandbox, Leases]:
        """Return a sandbox that runs scripts where their lease is, and the leases for it."""
        copied = copy.copy(self)
        copied._description = sandbox.describe()
        return FleetSandbox(sandbox, self.cluster), copied

    def share(
        self, settings: SandboxSettings, out: Path, *, parallel: int, cpus: int | None = None, gpus: int = 0
    ) -> Share:
        """Return what one script may use; see `Leases.share`."""
        nodes = [node for node in self.cluster.nodes() if node.gpus >= gpus and node.cpus >= (cpus or 1)]
        if not nodes:
            raise UsageError(f"no node in the fleet has {cpus or 1} core(s) and {gpus} GPU(s)")
        max_cores, all_cores = max(node.cpus for node in nodes), sum(node.cpus for node in nodes)
        cores = cpus or max(1, min(max_cores, all_cores // parallel))
        share = min(int(_KEPT_MEMORY * node.memory_bytes) * cores // node.cpus for node in nodes if node.cpus >= cores)
        memory = share if settings.memory_gb is None else int(settings.memory_gb * 1024**3)
        return Share(cores, memory, int((settings.disk_gb or self._settings.disk_gb) * 1e9))

    def room(self, share: Share, *, parallel: int, gpus: int = 0) -> int:
        """Return for how many runs there is room at a time, each with so many scripts of that share; at least 1."""
        slots = 0
        for node in self.cluster.nodes():
            fit = min(node.cpus // share.cpus, node.memory_bytes // share.memory_bytes)
            slots += min(fit, node.gpus // gpus) if gpus else fit
        return max(1, slots // parallel)

    @asynccontextmanager
    async def hold(
        self,
        cpus: int,
        gpus: int = 0,
        *,
        seconds: float,
        say: Say = None,
        memory_bytes: int = 0,
        lab: LabPlace | None = None,
        share_after: float = math.inf,
    ) -> AsyncIterator[Lease]:
        """Hold a slot with that many cores and GPUs, for a lab's commands on its node while that lives; see `Leases.hold`.

        A slot is never shared.
        """
        description = self._description
        if description is None:
            raise InfrastructureFailure("a fleet needs a sandbox before it can lease slots: call Fleet.placing")
        plan = plan_of(description, self._scripts, self._settings, cpus, gpus)
        deadline = time.monotonic() + seconds
        slot, lease = await self._get(plan, memory_bytes, deadline, say, lab)
        self._held.append(slot)
        try:
            yield RemoteLease(lease.cpus, slot.facts.gpus, slot=slot)
        finally:
            self._held = [s for s in self._held if s is not slot]
            await self._give_back(slot, say, occupied=lab is not None)

    async def _get(
        self, plan: SlotPlan, memory_bytes: int, deadline: float, say: Say, lab: LabPlace | None
    ) -> tuple[AcquiredSlot, Lease]:
        while True:
            slot = await self._find_slot(plan, memory_bytes, deadline, say, None if lab is None else lab.node)
            if lab is None:
                return slot, Lease()
            try:
                return slot, await self._occupied(slot, deadline)
            except BaseException as error:
                await self._give_back(slot, say, occupied=False)
                if not isinstance(error, SlotLost):
                    raise

    async def _occupied(self, slot: AcquiredSlot, deadline: float) -> Lease:
        """Have a slot hold cores of its node, by number, as commands of a lab want them."""
        slot.lost = True  # unless it answers
        seconds = max(1.0, deadline - time.monotonic())
        lease: Lease = await self._in_thread(
            partial(self.cluster.call, seconds=seconds + 60), slot.handle, Slot.occupy.__name__, seconds
        )
        slot.lost = False
        return lease

    async def _find_slot(
        self, plan: SlotPlan, memory_bytes: int, deadline: float, say: Say, lab_node: str | None
    ) -> AcquiredSlot:
        """Return a slot that can run scripts, an idle one if there is one; while a lab's node lives, it is there."""
        lost = 0
        while True:
            node = lab_node if lab_node is not None and await self._lives(lab_node) else None
            request = SlotRequest(plan, memory_bytes, node)
            fitting = [s for s in self._idle if request.is_met_by(s)]
            if fitting:
                self._idle.remove(fitting[-1])
                handle = fitting[-1].handle
            else:
                without = self._unused_of(await self._fit(plan, memory_bytes))
                handle = await self._in_thread(self.cluster.slot, plan, memory_bytes, without, node)
                self._wanting.append(request)
            try:
                while isinstance(facts := await self._facts(handle, request, deadline, say), AcquiredSlot):
                    self._in_background(self._in_thread(self.cluster.end, handle))
                    fitting, handle, request = [facts], facts.handle, SlotRequest(plan, memory_bytes, node)
            except SlotLost as error:
                lost += not fitting
                if lost == _MAX_LOST_SLOTS:
                    raise InfrastructureFailure(f"no slot in the fleet could be started: {error}") from error
                continue  # it ended while it was idle, or the node died just now
            except BaseException:
                await self._in_thread(self.cluster.end, handle)
                raise
            finally:
                if request in self._wanting:
                    self._wanting.remove(request)
                if request.slot is not None:
                    self._offer(request.slot)
            problem = facts.problem or difference(self._description, facts)
            if problem is None:
                return AcquiredSlot(handle, facts, plan, memory_bytes)
            await self._in_thread(self.cluster.end, handle)
            self._leave_alone(facts, _UNFIT, problem, say)
            if not self._unused_of(await self._fit(plan, memory_bytes)):
                raise InfrastructureFailure(f"no node in the fleet can run scripts; {facts.title}: {problem}")

    async def _lives(self, node: str) -> bool:
        return any(n.id == node for n in await self._in_thread(self.cluster.nodes))

    async def _fit(self, plan: SlotPlan, memory_bytes: int) -> list[str]:
        """Return the nodes that have room for such a slot when nothing else runs there; raises where there is none."""
        nodes = await self._in_thread(self.cluster.nodes)
        fit = [n.id for n in nodes if n.cpus >= plan.cpus and n.gpus >= plan.gpus and n.memory_bytes >= memory_bytes]
        if not fit:
            needs = f"{plan.cpus} core(s), {plan.gpus} GPU(s) and {memory_bytes / 1024**3:.1f} GiB"
            raise InfrastructureFailure(f"no node in the fleet of {len(nodes)} node(s) has {needs}")
        return fit

    def _unused_of(self, fit: Sequence[str]) -> list[str]:
        """Return the nodes that are to be left alone; none where that would be all: rather one that has failed before."""
        now = time.monotonic()
        unused = [node for node, until in self._without.items() if until > now]
        # Ray may learn of a node's death later than who holds a slot there.
        unused += [s.facts.node for s in self._held if s.lost]
        return unused if set(fit) - set(unused) else []

    async def _facts(self, handle: Any, request: SlotRequest, deadline: float, say: Say) -> SlotFacts | AcquiredSlot:
        """Wait until a slot is there, and return what it says of its node; or another slot that was given meanwhile."""
        plan, memory_bytes, node = request.plan, request.memory_bytes, request.node
        answer, start, reported = self.cluster.begin(handle), time.monotonic(), False
        while not await self._ready(answer, request):
            if request.slot is not None:
                slot, request.slot = request.slot, None
                return slot
            now = time.monotonic()
            if now >= deadline:
                raise InfrastructureFailure(f"no node in the fleet became free within {now - start:.0f} s")
            await self._fit(plan, memory_bytes)  # the only node may have died meanwhile
            if node is not None and not await self._lives(node):
                await self._in_thread(self.cluster.end, handle)
                raise SlotLost("lost its node")
            if now - start >= _SAY_AFTER:
                # Slots of another shape may be what it waits for.
                await self._end_idle(lambda s: (s.plan, s.memory_bytes) != (plan, memory_bytes))
                if say and not reported:
                    say(f"waiting for a slot in the fleet with {plan.cpus} core(s) and {plan.gpus} GPU(s)")
                reported = True
        facts: SlotFacts = await self._in_thread(self.cluster.get, answer, _CHECK_SECONDS)
        return facts

    async def _ready(self, answer: Any, request: SlotRequest) -> bool:
        """Wait a little for an answer, or until a slot was given; return whether the answer is there."""
        looking = asyncio.ensure_future(self._in_thread(self.cluster.ready, answer, _CHECK_SECONDS))
        is_given = asyncio.ensure_future(request.was_given.wait())
        try:
            await asyncio.wait({looking, is_given}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            is_given.cancel()
        return looking.done() and looking.result()

    async def _give_back(self, slot: AcquiredSlot, say: Say, *, occupied: bool) -> None:
        if occupied and not slot.lost:
            try:
                await self._in_thread(self.cluster.call, slot.handle, Slot.vacate.__name__)
            except SlotLost:
                slot.lost = True
        if slot.lost:
            self._leave_alone(slot.facts, _LEFT_ALONE, "a slot on it was lost", say)
            await self._in_thread(self.cluster.end, slot.handle)
            return
        self._offer(slot)

    def _offer(self, slot: AcquiredSlot) -> None:
        """Give a slot to who has waited longest for one like it, or keep it for a while."""
        for request in self._wanting:
            if request.is_met_by(slot):
                self._wanting.remove(request)
                request.slot = slot
                request.was_given.set()
                return
        slot.since = time.monotonic()
        self._idle.append(slot)
        self._in_background(self._end_idle_later())

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._resting.add(task)
        task.add_done_callback(self._resting.discard)

    async def _end_idle_later(self) -> None:
        """End the slots that nothing wanted for a while: others may want their cores."""
        await asyncio.sleep(_IDLE)
        await self._end_idle(lambda s: time.monotonic() - s.since >= _IDLE)

    async def _end_idle(self, is_due: Callable[[AcquiredSlot], bool]) -> None:
        for slot in [slot for slot in self._idle if is_due(slot)]:
            self._idle.remove(slot)
            await self._in_thread(self.cluster.end, slot.handle)

    def _leave_alone(self, facts: SlotFacts, seconds: float, reason: str, say: Say) -> None:
        self._without[facts.node] = time.monotonic() + seconds
        if say:
            say(f"fleet node {facts.title} is skipped for {seconds:.0f} s: {reason}")

    async def _in_thread(self, work: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(work, *arguments))


def difference(local: SandboxDescription | None, facts: SlotFacts) -> str | None:
    """Return how a node's packages for scripts differ from this machine's, in a sentence; None if they do not."""
    remote = facts.description
    if local is None or remote is None or local.packages is None or remote.packages is None:
        return None
    if local.python != remote.python:
        return f"scripts would run on Python {remote.python} there, but on {local.python} here"
    packages: Mapping[str, str] = local.packages
    names = sorted(
        name for name in packages.keys() | remote.packages.keys() if packages.get(name) != remote.packages.get(name)
    )
    if not names:
        return None
    name = names[0]
    return (
        f"{len(names)} packages differ from those here, such as {name}: {remote.packages.get(name, 'none')} there, "
        f"{packages.get(name, 'none')} here"
    )


def plan_of(
    local: SandboxDescription, scripts: SandboxSettings, fleet: FleetSettings, cpus: int, gpus: int
) -> SlotPlan:
    """Return the plan of a slot that runs scripts in the back end and the environment that are used here."""
    cache, free = int(fleet.cache_gb * 1e9), int(fleet.free_gb * 1e9)
    return SlotPlan(local.name, scripts, local.environment, cpus, gpus, cache, free)


@contextmanager
def open_fleet(settings: FleetSettings, scripts: SandboxSettings, local: Leases) -> Iterator[Leases]:
    """Open the leases of the configured cluster; `local` are those of this machine.

    Raises UsageError: there is no such cluster.
    """
    with closing(Cluster.connect(settings.address or "auto")) as cluster:
        yield Fleet(cluster, settings, scripts, local)
