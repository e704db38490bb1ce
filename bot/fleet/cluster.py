"""The connection to a Ray cluster: its nodes, and slots on them. Ray is imported when a fleet is named, and not before."""

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from bot.fleet.lab_process import CONNECTIONS, LabProcess
from bot.fleet.slot import Slot, SlotPlan
from state.errors import InfrastructureFailure, UsageError

INSTALL = "pip install 'kaggle-bot[fleet]'"
_NODE = "ray.io/node-id"
SIDE_BY_SIDE = 2 * CONNECTIONS + 8
"""Questions that a home may be asked at a time: those of its connections, and its own."""


class SlotLost(InfrastructureFailure):
    """A slot, or its whole node, is gone or does not answer."""


@dataclass(frozen=True)
class FleetNode:
    """A node that is alive, and what Ray may give away of it altogether."""

    id: str
    host: str
    cpus: int
    gpus: int
    memory_bytes: int


class Cluster:
    """A connection; its methods wait, so call them from threads."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._lost = (
            ray.exceptions.RayActorError,
            ray.exceptions.ActorUnschedulableError,
            ray.exceptions.GetTimeoutError,
            ray.exceptions.RaySystemError,
            ray.exceptions.ObjectLostError,
            ConnectionError,
        )

    @classmethod
    def connect(cls, address: str) -> Self:
        """Connect to the cluster: `auto`, which this machine belongs to, or `ray://HOST:10001`.

        Raises UsageError: Ray is not installed, or there is no such cluster.
        """
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray
        except ModuleNotFoundError:
            raise UsageError(f"the fleet at {address} requires Ray, which is not installed: {INSTALL}") from None
        # It would print what happens to nodes on stdout, where results are, whatever `log_to_driver` says.
        ray._private.worker._worker_logs_enabled = False
        try:
            ray.init(address=address, namespace="kaggle-bot", log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, RuntimeError, ValueError) as error:
            reason = str(error).splitlines()[0]
            raise UsageError(
                f"cannot connect to a fleet at {address} (to start one, see docs/fleet.md): {reason}"
            ) from error
        return cls(ray)

    def close(self) -> None:
        """End the connection, and with it all slots."""
        self._ray.shutdown()

    def nodes(self) -> list[FleetNode]:
        """Return the nodes that are alive."""
        fleet_nodes = []
        for node in self._ray.nodes():
            resources = node["Resources"]
            cpus, gpus, memory = (int(resources.get(key, 0)) for key in ("CPU", "GPU", "memory"))
            if node["Alive"]:
                fleet_nodes.append(FleetNode(node["NodeID"], node["NodeManagerHostname"], cpus, gpus, memory))
        return fleet_nodes

    def slot(self, plan: SlotPlan, memory_bytes: int, without: Sequence[str] = (), node: str | None = None) -> Any:
        """Ask for a slot on `node` (None: on any but those of `without`), which waits until there is room for it."""
        node_expression = node or (f"!in({','.join(without)})" if without else None)
        label = {} if node_expression is None else {"label_selector": {_NODE: node_expression}}
        return self._make(Slot, plan, num_cpus=plan.cpus, num_gpus=plan.gpus, memory=memory_bytes, **label)

    def visitor(self, plan: SlotPlan, node: str) -> Any:
        """Ask for a slot on one node which takes up nothing there: to look around."""
        return self._make(Slot, plan, num_cpus=0, label_selector={_NODE: node})

    def home(self, plan: SlotPlan, node: str) -> Any:
        """Ask for a lab's home on one node, whose methods may be called side by side."""
        return self._make(LabProcess, plan, num_cpus=0, label_selector={_NODE: node}, max_concurrency=SIDE_BY_SIDE)

    def _make(self, kind: type[Slot], plan: SlotPlan, **options: Any) -> Any:
        return self._ray.remote(kind).options(max_restarts=0, max_task_retries=0, **options).remote(plan)

    def begin(self, slot: Any) -> Any:
        """Ask a slot for its facts; `ready` says whether they are there."""
        return slot.facts.remote()

    def ready(self, answer: Any, seconds: float) -> bool:
        """Wait for an answer; return whether it, or an error, is there."""
        return bool(self._ray.wait([answer], timeout=seconds)[0])

    def get(self, answer: Any, seconds: float) -> Any:
        """Return an answer; raises SlotLost as `call`."""
        try:
            return self._ray.get(answer, timeout=seconds)
        except self._lost as error:
            raise SlotLost(str(error).splitlines()[0] or type(error).__name__) from error

    def call(self, slot: Any, method: str, *arguments: Any, seconds: float = 60.0) -> Any:
        """Have a slot do something and return its answer.

        Raises SlotLost: it is gone, or did not answer in time; OSError: its node's disk failed.
        """
        return self.get(getattr(slot, method).remote(*arguments), seconds)

    def end(self, slot: Any) -> None:
        """End a slot with all that runs in it."""
        self._ray.kill(slot)
