"""What placing a script on a node costs beyond running it here, and how fast a view is sent: `python -m tests.bench.bench_fleet`.

On Ray's own test cluster of one node on this machine. An empty script runs by turns here and in a slot that is kept, both
with their leases; the difference of the medians is the overhead. Then a view of random bytes is sent, and used again.
"""

import argparse
import asyncio
import os
import tempfile
import time
from contextlib import closing
from pathlib import Path
from statistics import median

from sandbox import ExecutionRequest, ExitReason, Limits, Sandbox
from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.fleet.cluster import Cluster
from sandbox.fleet.leases import Fleet
from sandbox.leases import Leases
from sandbox.settings import FleetSettings, SandboxSettings
from tests.sandbox.fleet.nodes import MEMORY, small_cluster

GOAL = 0.1


async def took(sandbox: Sandbox, leases: Leases, folder: Path, view: str, number: int) -> float:
    """Return the seconds from asking for a lease to the outcome, without those of the script itself."""
    began = time.monotonic()
    async with leases.hold(1, seconds=300, memory_bytes=MEMORY // 2) as lease:
        request = ExecutionRequest(f"e{number}", "", folder / view, folder / f"out{number}", Limits(300), lease=lease)
        outcome = await sandbox.run(request)
    assert outcome.reason is ExitReason.FINISHED, outcome
    return time.monotonic() - began - outcome.seconds


async def measure(fleet: Fleet, here: Leases, folder: Path, runs: int, gigabytes: float) -> None:
    """Run, and print."""
    local = BubblewrapSandbox()
    placed, leases = fleet.placing(local)
    (folder / "small").mkdir()
    print(
        f"a slot that has to be started, and its first script: {await took(placed, leases, folder, 'small', 0):.1f} s"
    )
    alone, away = [], []
    for number in range(1, runs + 1):
        alone.append(await took(local, here, folder, "small", 2 * number))
        away.append(await took(placed, leases, folder, "small", 2 * number + 1))
    overhead = median(away) - median(alone)
    verdict = "met" if overhead < GOAL else "MISSED"
    print(
        f"around a script here {1000 * median(alone):.0f} ms, on a node {1000 * median(away):.0f} ms, medians of {runs}"
    )
    print(f"overhead of placing {1000 * overhead:.0f} ms   goal {1000 * GOAL:.0f} ms: {verdict}")

    (folder / "large").mkdir()
    for number in range(int(gigabytes * 20)):
        (folder / "large" / f"{number}.bin").write_bytes(os.urandom(50_000_000))
    first = await took(placed, leases, folder, "large", 10_000)
    again = await took(placed, leases, folder, "large", 10_001)
    sent = sum(path.stat().st_size for path in folder.parent.glob("n1/fleet/cache/files/*"))
    print(
        f"{gigabytes:g} GB of a view: {first:.1f} s the first time, {again:.2f} s the next; {sent / 1e9:.2f} GB on the node"
    )


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--gb", type=float, default=0.5)
    arguments = parser.parse_args()
    with small_cluster(0) as cluster, tempfile.TemporaryDirectory(dir=cluster.folder) as name:
        folder = Path(name)
        folder.chmod(0o755)
        with closing(Cluster.connect(cluster.address)) as connected:
            here = Leases(folder)
            fleet = Fleet(connected, FleetSettings(address="auto", free_gb=0.1), SandboxSettings(), here)
            asyncio.run(measure(fleet, here, folder, arguments.runs, arguments.gb))


if __name__ == "__main__":
    main()
