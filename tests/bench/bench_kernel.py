"""How long a session takes to start, and a cell to run, in each back end: `python -m tests.bench.bench_kernel`."""

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sandbox import ExecutionRequest, Limits, Sandbox
from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.docker import DockerSandbox
from sandbox.process import ProcessSandbox

ROUNDS = 7
CELLS = 20


def bare() -> float:
    """Return the seconds that Python takes to import a kernel's program, which no session can do without."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import ipykernel.kernelapp"], check=True)
    return time.perf_counter() - began


async def measured(sandbox: Sandbox, place: Path) -> tuple[float, float, float]:
    """Return the seconds until a session is ready, those of one empty cell, and those of its end."""
    request = ExecutionRequest("bench", "", place / "view", place / "out", Limits(60))
    began = time.perf_counter()
    async with sandbox.session(request) as session:
        started = time.perf_counter()
        for _ in range(CELLS):
            await session.run("pass", 10)
        ended = time.perf_counter()
    return started - began, (ended - started) / CELLS, time.perf_counter() - ended


def main() -> None:
    """Measure all in turn, so that what else the machine does hits all alike, and print medians."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        place.chmod(0o755)
        (place / "view").mkdir()
        isolated = {"bubblewrap": BubblewrapSandbox(), "docker": DockerSandbox("bench")}
        kinds = {"process": ProcessSandbox(), **{name: one for name, one in isolated.items() if one.problem() is None}}
        base, times = [], {name: [] for name in kinds}
        for _ in range(ROUNDS):
            base.append(bare())
            for name, sandbox in kinds.items():
                times[name].append(asyncio.run(measured(sandbox, place)))
    print(f"{'python -c import ipykernel':26} {statistics.median(base) * 1000:6.0f} ms")
    for name, rows in times.items():
        start, cell, end = (statistics.median(column) * 1000 for column in zip(*rows, strict=True))
        print(f"{name:26} {start:6.0f} ms to start, {cell:5.1f} ms a cell, {end:4.0f} ms to end")


if __name__ == "__main__":
    main()
