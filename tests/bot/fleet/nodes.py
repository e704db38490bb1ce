"""Ray's own test cluster on this machine: a head that runs nothing, two nodes, and one with a stand-in for a GPU."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

PATIENT = {
    "health_check_initial_delay_ms": 60_000,
    "health_check_timeout_ms": 60_000,
    "worker_register_timeout_seconds": 300,
    # Ray's own 15 would starve scripts beside whatever else this machine does.
    "worker_niceness": 0,
}
"""What keeps a node that is starved of processor time from being taken for dead; one that is gone refuses at once."""
STORE = 80_000_000
"""Bytes of each node's object store, the least that Ray takes."""
MEMORY = 2 * 1000**3


@dataclass
class Nodes:
    """The cluster; each node has a folder for its slots, and cores of its own to lease."""

    ray: Any
    folder: Path
    nodes: dict[str, Any] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return str(self.ray.address)

    def add(self, name: str, gpus: int = 0) -> None:
        own = self.folder / name
        own.mkdir(exist_ok=True)
        self.nodes[name] = self.ray.add_node(
            num_cpus=2,
            num_gpus=gpus,
            memory=MEMORY,
            object_store_memory=STORE,
            resources={name: 1},
            env_vars={"BOT_FLEET": str(own / "fleet"), "BOT_LEASES": str(own / "leases")},
        )

    def kill(self, name: str) -> None:
        """Kill a node with all its processes, as when its machine loses power."""
        node = self.nodes.pop(name)
        [raylet] = node.all_processes["raylet"]
        below = psutil.Process(raylet.process.pid).children(recursive=True)
        self.ray.remove_node(node, allow_graceful=False)
        for process in below:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()

    def running(self, name: str) -> list[Path]:
        """Return the folders of executions that run on a node."""
        return sorted((self.folder / name).glob("fleet/slots/*/execution"))


@contextmanager
def small_cluster(*gpus: int) -> Iterator[Nodes]:
    """Start a cluster, with a node `n1`, `n2` ... for each number of GPUs."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    folder = Path(tempfile.mkdtemp(prefix="fleet-"))
    folder.chmod(0o755)
    head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": STORE, "_system_config": PATIENT}
    cluster = Nodes(Cluster(initialize_head=True, head_node_args=head), folder)
    try:
        for number, count in enumerate(gpus, 1):
            cluster.add(f"n{number}", count)
        yield cluster
    finally:
        cluster.ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)
