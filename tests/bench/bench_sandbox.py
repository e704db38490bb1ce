"""How long a sandbox takes to start a script, beside bare Python: `python -m tests.bench.bench_sandbox`."""

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sandbox import ExecutionRequest, Limits, Sandbox
from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.process import ProcessSandbox

ROUNDS = 25


def bare(script: Path) -> float:
    """Return the seconds that Python alone takes."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-P", "-s", str(script)], check=True)
    return time.perf_counter() - began


async def sandboxed(sandbox: Sandbox, place: Path) -> tuple[float, float]:
    """Return the seconds of the script in the sandbox, and those of the whole execution."""
    request = ExecutionRequest("bench", "pass", place / "view", place / "out", Limits(20))
    began = time.perf_counter()
    outcome = await sandbox.run(request)
    return outcome.seconds, time.perf_counter() - began


def main() -> None:
    """Measure all in turn, so that what else the machine does hits all alike, and print medians and ratios."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "view").mkdir()
        (place / "script.py").write_text("pass")
        kinds: dict[str, Sandbox] = {"process": ProcessSandbox()}
        isolated = BubblewrapSandbox()
        if isolated.problem() is None:
            kinds["bubblewrap"] = isolated
        times: dict[str, list[float]] = {"python": []}
        for _ in range(ROUNDS):
            times["python"].append(bare(place / "script.py"))
            for name, sandbox in kinds.items():
                inner, whole = asyncio.run(sandboxed(sandbox, place))
                times.setdefault(f"{name}, script", []).append(inner)
                times.setdefault(f"{name}, whole", []).append(whole)
    base = statistics.median(times["python"])
    for name, values in times.items():
        median = statistics.median(values)
        print(f"{name:20} {median * 1000:6.1f} ms  +{(median - base) * 1000:5.1f} ms  x{median / base:.2f}")


if __name__ == "__main__":
    main()
