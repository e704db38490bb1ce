"""What isolation costs, beside bare Python, in one run: `python -m tests.bench.bench_sandbox`.

First the time from "run this script" to its first output, then the engine's cost for each node of a replay whose model
answers at once and whose scripts do next to nothing.
"""

import asyncio
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

from sandbox import Breach, ExecutionRequest, Limits, ResourceUsage, Sandbox
from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.docker import DockerSandbox
from sandbox.process import ProcessSandbox
from sandbox.settings import SandboxSettings
from tests.scripted_endpoint import Reply, Request, ScriptedEndpoint
from tests.tiny_snapshot import write_tiny

ROUNDS = 15
PAUSE = 1.0
"""Seconds between two scripts, as in a run, in which a model writes the next one meanwhile."""
NODES = 20
FIRST_OUTPUT_GOALS = {"bubblewrap": 0.05, "docker": 0.5}
NODE_GOAL = 0.25
_SCRIPT = "print(1, flush=True)"
_NODE = """
import shutil
shutil.copy("data/sample_submission.csv", "submission.csv")
shutil.copy("data/sample_validation.csv", "validation_predictions.csv")
print("variant", {number})
"""


class FirstOutput:
    """Remembers when something was printed first; a `Watch`."""

    def __init__(self) -> None:
        self.at: float | None = None

    def output(self, chunk: bytes) -> None:
        """Take in output."""
        self.at = self.at or time.perf_counter()

    def usage(self, usage: ResourceUsage) -> Breach | None:
        """Take in a measure."""
        return None


def bare(place: Path) -> tuple[float, float]:
    """Return the seconds until Python alone prints, and until it has ended."""
    began = time.perf_counter()
    command = [sys.executable, "-P", "-s", str(place / "script.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        process.stdout.read(1)
        first = time.perf_counter()
    return first - began, time.perf_counter() - began


async def sandboxed(sandbox: Sandbox, place: Path) -> tuple[float, float]:
    """Return the seconds until a script in the sandbox prints, and until its outcome is there."""
    await asyncio.sleep(PAUSE)
    request = ExecutionRequest("bench", _SCRIPT, place / "view", place / "out", Limits(20))
    watch = FirstOutput()
    began = time.perf_counter()
    outcome = await sandbox.run(request, watch)
    assert watch.at is not None, outcome
    return watch.at - began, time.perf_counter() - began


def back_ends() -> Iterator[tuple[str, Sandbox]]:
    """Yield the back ends that work here; say why another does not."""
    yield "process", ProcessSandbox()
    others: dict[str, BubblewrapSandbox | DockerSandbox] = {
        "bubblewrap": BubblewrapSandbox(),
        "docker": DockerSandbox("bench"),
        "docker with runsc": DockerSandbox("bench", SandboxSettings(runtime="runsc")),
    }
    for name, sandbox in others.items():
        if problem := sandbox.problem():
            print(f"without {name}: {problem}")
        else:
            yield name, sandbox


def measure_starts(kinds: Mapping[str, Sandbox]) -> dict[str, list[tuple[float, float]]]:
    """Measure all in turn, so that what else the machine does hits all alike; the first round is not counted."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in ("bare", *kinds)}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        place.chmod(0o755)
        (place / "view").mkdir()
        (place / "script.py").write_text(_SCRIPT)
        for counted in [False] + [True] * ROUNDS:
            one = {"bare": bare(place)}
            one |= {name: asyncio.run(sandboxed(sandbox, place)) for name, sandbox in kinds.items()}
            if counted:
                for name, pair in one.items():
                    times[name].append(pair)
            time.sleep(PAUSE)
    return times


def print_starts(times: Mapping[str, list[tuple[float, float]]]) -> None:
    """Print medians, differences from bare Python, ratios and goals."""
    base, base_whole = (statistics.median(column) for column in zip(*times["bare"], strict=True))
    print(
        f"\nmedian of {ROUNDS}: {'first output':>24} {'over bare':>12} {'ratio':>7} {'outcome':>12} {'over bare':>12}"
    )
    for name, pairs in times.items():
        first, whole = (statistics.median(column) for column in zip(*pairs, strict=True))
        goal = FIRST_OUTPUT_GOALS.get(name)
        print(
            f"{name:20} {_ms(first):>16} {_ms(first - base, '+'):>12} {first / base:6.2f}x {_ms(whole):>12} "
            f"{_ms(whole - base_whole, '+'):>12}{_verdict(first - base, goal)}"
        )


def replay_cost(back_end: str, folder: Path) -> dict[str, float]:
    """Replay with scripts that do nothing and a model that answers at once; return seconds for each node."""
    runtime = "runtime = 'runsc'\n" if back_end.endswith("runsc") else ""
    (folder / "bot.toml").write_text(f"[sandbox]\n{runtime}")
    count = iter(range(1, 1000))

    def answer(request: Request) -> Reply | str:
        if "You review runs" in str(request.body["messages"][0]["content"]):
            return json.dumps({"summary": "it works"})
        return Reply(f"A copy.\n\n```python\n{_NODE.format(number=next(count))}```\n")

    command = [sys.executable, "-c", "from bot.cli import main; main()", "replay", str(folder.parent / "tiny-table")]
    options = f"--agent aide --model openai:instant --steps {NODES} --time 10m --json --cpus 1".split()
    with ScriptedEndpoint(answer) as endpoint:
        done = subprocess.run(
            [*command, *options, "--sandbox", back_end.split()[0], "--out", str(folder / "runs")],
            env={
                **os.environ,
                "OPENAI_BASE_URL": endpoint.url,
                "BOT_LEASES": str(folder / "leases"),
            },  # nobody else is waited for
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-2000:]
    result = json.loads(done.stdout)
    assert result["nodes"] == NODES, result
    return _parts(Path(result["run"]), result)


def _parts(run: Path, result: Mapping[str, float]) -> dict[str, float]:
    """Return the medians of what a node took, from the run's own records; the first node is another kind of script."""
    with sqlite3.connect(run / "state.db") as database:
        nodes = _spans(database, "SELECT id, created_at, ended_at FROM node WHERE id > 1")
        executions = _spans(
            database, "SELECT node, started_at, ended_at FROM execution WHERE node > 1 AND view = 'holdout'"
        )
        evaluated = dict(database.execute("SELECT node, at FROM evaluation WHERE view = 'holdout'").fetchall())
        calls = database.execute(
            "SELECT node, sum(seconds) FROM ledgerentry WHERE kind = 'tokens' GROUP BY node"
        ).fetchall()
    model = {node: seconds or 0.0 for node, seconds in calls}
    evaluation = {node: _seconds(executions[node][1], evaluated[node]) for node in nodes}
    whole = {node: _seconds(*span) for node, span in nodes.items()}
    return {
        "whole": statistics.median(whole.values()),
        "isolated": statistics.median(_seconds(*executions[node]) for node in nodes),
        "evaluation": statistics.median(evaluation.values()),
        "node": statistics.median(whole[node] - evaluation[node] - model.get(node, 0.0) for node in nodes),
        "overhead": result["overhead_seconds"] / result["nodes"],
    }


def _spans(database: sqlite3.Connection, query: str) -> dict[int, tuple[str, str]]:
    return {row[0]: (row[1], row[2]) for row in database.execute(query)}


def _seconds(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


def _ms(seconds: float, sign: str = "") -> str:
    return f"{seconds * 1000:{sign}.1f} ms"


def _verdict(seconds: float, goal: float | None) -> str:
    if goal is None:
        return ""
    return f"   goal {_ms(goal)}: {'met' if seconds <= goal else 'MISSED'}"


def main() -> None:
    """Measure, and print figures with the load beside which they were measured."""
    kinds = dict(back_ends())
    print(f"load average {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores")
    print_starts(measure_starts(kinds))
    print(f"\na replay of {NODES} nodes, medians of a node: isolated and recorded, evaluation and model aside")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        place.chmod(0o755)
        write_tiny(place / "tiny-table")
        for name in kinds:
            (place / name).mkdir()
            cost = replay_cost(name, place / name)
            print(
                f"{name:20} {_ms(cost['node']):>12}   in the sandbox {_ms(cost['isolated'])}, evaluation "
                f"{_ms(cost['evaluation'])}, all {_ms(cost['whole'])}; overhead_seconds / nodes {_ms(cost['overhead'])}"
                f"{_verdict(cost['node'], NODE_GOAL if name in FIRST_OUTPUT_GOALS else None)}"
            )
    print(f"load average {os.getloadavg()[0]:.2f} at the end")


if __name__ == "__main__":
    main()
