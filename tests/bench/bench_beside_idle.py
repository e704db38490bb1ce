"""How much longer a command takes beside work in idle time: `python -m tests.bench.bench_beside_idle [BACKEND ...]`.

A loop of fixed work runs three times alone and three times beside an idle execution that never rests, on the same core, and on
two cores with two loops. `BENCH_SECONDS`: of the loop alone. The goal: 60 s become 63 at most.
"""

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from sandbox import ExecutionRequest, Lease, Limits, Sandbox
from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.docker import DockerSandbox
from sandbox.process import ProcessSandbox

SECONDS = float(os.environ.get("BENCH_SECONDS", "10"))
ROUNDS = 3
GOAL = 63 / 60
_CALIBRATE = """
import time
count, until = 0, time.perf_counter() + {seconds}
while time.perf_counter() < until:
    sum(range(10_000))
    count += 1
print(count)
"""
_WORK = """
import os, time
began = time.perf_counter()
children = [child for child in (os.fork() for _ in range({loops} - 1)) if child]
for _ in range({count}):
    sum(range(10_000))
print(time.perf_counter() - began, flush=True)
for child in children:
    os.waitpid(child, 0)
"""
_RESTLESS = """
import os
for _ in range({loops} - 1):
    if not os.fork():
        break
while True:
    pass
"""


def _request(folder: Path, name: str, script: str, cores: tuple[int, ...], *, idle: bool = False) -> ExecutionRequest:
    limits = Limits(600.0, memory_bytes=512 * 1024**2, processes=64)
    return ExecutionRequest(name, script, folder / "view", folder / name, limits, lease=Lease(cores), idle=idle)


async def _seconds(sandbox: Sandbox, folder: Path, count: int, cores: tuple[int, ...]) -> float:
    """Return the longest time that one of the loops took."""
    script = _WORK.format(loops=len(cores), count=count)
    outcome = await sandbox.run(_request(folder, f"work-{time.monotonic_ns()}", script, cores))
    return max(map(float, outcome.output.split()))


async def measure(sandbox: Sandbox, name: str, cores: tuple[int, ...]) -> None:
    """Print how long the loops take alone and beside idle work."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        folder.chmod(0o755)
        (folder / "view").mkdir()
        outcome = await sandbox.run(_request(folder, "count", _CALIBRATE.format(seconds=SECONDS), cores[:1]))
        count = int(outcome.output)
        alone = [await _seconds(sandbox, folder, count, cores) for _ in range(ROUNDS)]
        restless = _RESTLESS.format(loops=len(cores))
        beside = asyncio.create_task(sandbox.run(_request(folder, "idle", restless, cores, idle=True)))
        await asyncio.sleep(3)
        both = [await _seconds(sandbox, folder, count, cores) for _ in range(ROUNDS)]
        beside.cancel()
        await asyncio.gather(beside, return_exceptions=True)
    ratio = statistics.median(both) / statistics.median(alone)
    figures = f"{statistics.median(alone):.2f} s alone, {statistics.median(both):.2f} s beside idle work"
    print(f"{name}, {len(cores)} core(s): {figures}, {ratio:.3f} times (goal {GOAL:.2f})", flush=True)


def main() -> None:
    """Measure each back end that is named, or all."""
    backends: dict[str, Callable[[], Sandbox]] = {
        "process": ProcessSandbox,
        "bubblewrap": BubblewrapSandbox,
        "docker": lambda: DockerSandbox("bench"),
    }
    every = tuple(sorted(os.sched_getaffinity(0)))
    for name in sys.argv[1:] or backends:
        sandbox = backends[name]()
        for cores in (every[:1], every[:2]):
            asyncio.run(measure(sandbox, name, cores))


if __name__ == "__main__":
    main()
