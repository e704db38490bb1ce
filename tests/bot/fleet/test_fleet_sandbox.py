"""Executions on nodes: as here, with data that is sent once, a watch that ends them, and a node's death that costs one alone."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.fleet.checks import check_fleet
from bot.fleet.cluster import Cluster
from bot.fleet.leases import _IDLE, Fleet
from bot.fleet.slot_lease import AcquiredSlot, RemoteLease, slot_of
from sandbox import Breach, ExecutionRequest, ExitReason, Lease, Limits, ResourceUsage, Sandbox
from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.leases import Leases, leases_folder
from sandbox.settings import FleetSettings, SandboxSettings
from state.errors import InfrastructureFailure
from state.redaction import Redactor
from tests.bot.fleet.nodes import MEMORY, Nodes

pytestmark = pytest.mark.integration
SETTINGS = FleetSettings(address="auto", free_gb=0.1)
SECRET = "sk-4f9aQz81LmXr02Tt"
READS = f"""
import os
print(open("data/inner/table.csv").read(), open("weights/small/w").read(), os.environ["BOT_GPUS"], "{SECRET}")
open("submission.csv", "w").write("id,label\\n" * 5)
"""
WAITS = "import time\nprint('begun', flush=True)\ntime.sleep(120)"


@dataclass
class Place:
    """A sandbox with the leases of a fleet, and a folder."""

    sandbox: Sandbox
    leases: Leases
    folder: Path

    @asynccontextmanager
    async def lease(self, gpus: int = 0) -> AsyncIterator[Lease]:
        async with self.leases.hold(1, gpus, seconds=300, memory_bytes=MEMORY // 4) as lease:
            yield lease

    def request(self, name: str, script: str, lease: Lease) -> ExecutionRequest:
        mounts = {"weights/small": self.folder / "small"}
        view, out = self.folder / "view", self.folder / name
        return ExecutionRequest(
            name, script, view, out, Limits(100), mounts=mounts, lease=lease, redactor=Redactor({SECRET: "A_KEY"})
        )


@pytest.fixture
def place(nodes: Nodes, tmp_path: Path) -> Iterator[Place]:
    (tmp_path / "view" / "inner").mkdir(parents=True)
    (tmp_path / "view" / "inner" / "table.csv").write_text("a table of its own")
    (tmp_path / "view" / "large.bin").write_bytes(bytes(range(256)) * 80_000)
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "w").write_text("weights")
    with closing(Cluster.connect(nodes.address)) as cluster:
        fleet = Fleet(cluster, SETTINGS, SandboxSettings(), Leases(leases_folder()))
        yield Place(*fleet.placing(BubblewrapSandbox()), tmp_path)


@dataclass
class Impatient:
    """A watch that ends what has printed a word."""

    heard: bytes = b""
    usages: list[ResourceUsage] = field(default_factory=list)

    def output(self, chunk: bytes) -> None:
        self.heard += chunk

    def usage(self, usage: ResourceUsage) -> Breach | None:
        self.usages.append(usage)
        return Breach(ExitReason.KILLED_BY_RULE, "It had begun.") if b"begun" in self.heard else None


async def test_a_script_runs_on_a_node_as_it_does_here(place: Place, nodes: Nodes):
    before = set(nodes.folder.glob("n*/fleet/cache/files/*"))
    async with place.lease() as lease:
        outcome = await place.sandbox.run(place.request("first", READS, lease))
    assert (outcome.reason, outcome.exit_code) == (ExitReason.FINISHED, 0), outcome
    assert "a table of its own weights 0" in outcome.output
    assert SECRET not in outcome.output + (place.folder / "first" / "log.txt").read_text()
    assert outcome.files["submission.csv"].read_text() == "id,label\n" * 5
    copies = list(set(nodes.folder.glob("n*/fleet/cache/files/*")) - before)
    assert len(copies) == 3

    # The same data is not sent again, and a node's GPU is leased with the node.
    async with place.lease() as lease:
        await place.sandbox.run(place.request("second", READS, lease))
    async with place.lease(gpus=1) as with_gpu:
        assert isinstance(with_gpu, RemoteLease) and with_gpu.gpus == ("gpu-0",)
        assert (await place.sandbox.run(place.request("third", READS, with_gpu))).exit_code == 0
    kept = [(path, path.stat().st_mtime_ns) for path in copies]
    assert kept == [(path, path.stat().st_mtime_ns) for path in copies]
    assert len(set(nodes.folder.glob("n*/fleet/cache/files/*")) - before) <= 6


async def test_a_watch_ends_what_runs_on_a_node(place: Place):
    watch = Impatient()
    async with place.lease() as lease:
        outcome = await place.sandbox.run(place.request("watched", WAITS, lease), watch)
    assert (outcome.reason, outcome.detail) == (ExitReason.KILLED_BY_RULE, "It had begun.")
    assert watch.usages and outcome.output == "begun\n"


async def test_a_node_that_dies_costs_its_execution_alone(place: Place, nodes: Nodes):
    nodes.add("n4", gpus=1)
    async with AsyncExitStack() as stack:
        # One on each of the two nodes with a GPU.
        running = {}
        for number in range(2):
            lease = await stack.enter_async_context(place.lease(gpus=1))
            request = place.request(f"long{number}", "import time\ntime.sleep(40)", lease)
            task = asyncio.create_task(place.sandbox.run(request))
            while not (there := [name for name in ("n3", "n4") if nodes.running(name) and name not in running]):
                assert not task.done(), task.result()
                await asyncio.sleep(0.1)
            running[there[0]] = task
        nodes.kill("n4")
        outcome = await asyncio.wait_for(running["n4"], 120)
        assert outcome.reason is ExitReason.INFRASTRUCTURE and "was lost" in str(outcome.detail)
        assert (await running["n3"]).reason is ExitReason.FINISHED


async def test_who_waits_gets_the_slot_that_is_given_back(place: Place):
    async def taken() -> AcquiredSlot | None:
        async with place.lease(gpus=1) as lease:
            return slot_of(lease)

    async with place.lease(gpus=1) as lease:
        waits = asyncio.create_task(taken())
        assert not (await asyncio.wait({waits}, timeout=2))[0], "there is one GPU"
        held = slot_of(lease)
    given = await asyncio.wait_for(waits, _IDLE / 2)
    assert given and held and given.handle is held.handle


async def test_more_than_any_node_has_is_refused_at_once(place: Place):
    began = time.monotonic()
    with pytest.raises(
        InfrastructureFailure, match=r"no node in the fleet of \d node\(s\) has 1 core\(s\), 2 GPU\(s\)"
    ):
        async with place.lease(gpus=2):
            pass
    assert time.monotonic() - began < 120, "it waits for 300 s where there are slots"


def test_the_doctor_looks_at_every_node(nodes: Nodes):
    here = BubblewrapSandbox().describe()
    settings = FleetSettings.model_construct(address=nodes.address, cache_gb=1.0, disk_gb=1.0, free_gb=0.1)
    found = list(check_fleet(settings, SandboxSettings(), here))
    assert [one.part for one in found] == ["fleet", *["fleet node"] * (len(found) - 1)]
    # Ray may still list one that another test has killed.
    there = [one for one in found[1:] if ": no answer: " not in one.result]
    assert all("bubblewrap, 2 cores" in one.result or "runs no scripts" in one.result for one in there)
    assert any("1 GPU(s)" in one.result and "no driver lists" in one.result for one in found), datetime.now(UTC)
