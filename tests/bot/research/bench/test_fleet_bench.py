"""`bot bench --fleet`: twelve runs, several at once on a cluster, killed twice and stopped once: all twelve, once each."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from bot.execution.folder import run_folders
from bot.replay.prepare import finished_result
from sandbox.locks import is_held
from tests import needs
from tests.bot.fleet.nodes import small_cluster
from tests.bot.replay.conftest import Bot, bot, tiny
from tests.bot.replay.scripted_answers import Answers
from tests.chaos.invariants import events
from tests.chaos.world import wait_until
from tests.scripted_endpoint import ScriptedEndpoint

pytestmark = pytest.mark.integration
__all__ = ["bot", "tiny"]

RUNS = 12
PLAN = """
competitions = ["one", "two"]
agents = ["comind no-community", "comind no-community no-blend", "aide"]
models = ["openai:scripted"]
seeds = 2
[run]
steps = 2
time = "10m"
sandbox = "bubblewrap"
cpus = 1
gpus = 0
[budget]
time = "150m"
"""


class Place:
    """A plan, and benches that work on it."""

    def __init__(self, folder: Path, tiny: Path) -> None:
        self.plan, self._log = folder / "plan.toml", folder / "log"
        self._benches: list[subprocess.Popen[bytes]] = []
        for name in ("one", "two"):
            shutil.copytree(tiny, folder / name)
            manifest = folder / name / "snapshot.json"
            manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"slug": f"tiny-{name}"}))
        self.plan.write_text(PLAN)
        (folder / "bot.toml").write_text("[fleet]\nfree_gb = 0.1\n")

    def start(self) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "bot", "bench", str(self.plan), "--fleet", "auto"]
        with self._log.open("ab") as log:
            bench = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.plan.parent, env={**os.environ})
        self._benches.append(bench)
        return bench

    def close(self) -> None:
        for bench in self._benches:
            bench.kill()
            bench.wait()

    def log(self) -> str:
        return self._log.read_text()[-4000:]

    @property
    def folders(self) -> list[Path]:
        return [folder.path for folder in run_folders([self.plan.parent / "plan-runs"])]

    def finished(self) -> dict[Path, bytes]:
        """Return the results of the runs for which nothing is left to do."""
        there = run_folders([self.plan.parent / "plan-runs"])
        return {one.path: one.result.read_bytes() for one in there if finished_result(one)}

    def running(self) -> list[Path]:
        """Return the runs that are worked on."""
        return [one.path for one in run_folders([self.plan.parent / "plan-runs"]) if is_held(one.config)]

    def wait(self, happened: Callable[[], bool], seconds: float = 400) -> None:
        assert wait_until(happened, seconds), self.log()


@pytest.fixture
def place(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Return a place beside a cluster and an endpoint."""
    needs.bubblewrap()
    with small_cluster(0, 0, 1) as cluster, ScriptedEndpoint(Answers()) as endpoint:
        monkeypatch.setenv("RAY_ADDRESS", cluster.address)
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        monkeypatch.setenv("BOT_LEASES", str(tmp_path / "leases"))
        with closing(Place(tmp_path, tiny)) as place:
            yield place


def engines(process: "subprocess.Popen[bytes]") -> list[psutil.Process]:
    return [one for one in psutil.Process(process.pid).children() if "resume" in one.cmdline()]


def test_twelve_runs_on_a_fleet_are_done_once_each_however_the_bench_ends(bot: Bot, place: Place) -> None:
    kept = dict[Path, bytes]()
    for number in (1, 4):
        bench = place.start()
        place.wait(lambda: len(place.finished()) >= number and len(place.running()) > 1)  # noqa: B023
        working = engines(bench)
        assert len(working) > 1, "several runs are worked on at once"
        bench.kill()
        bench.wait()
        _, alive = psutil.wait_procs(working, timeout=10)
        assert not alive and not place.running(), "an engine outlived its bench"
        kept |= place.finished()

    bench = place.start()
    place.wait(lambda: len(place.running()) > 1)
    bench.send_signal(signal.SIGTERM)
    assert bench.wait(120) != 0 and not place.running(), "a bench that is asked to stop ends with all of its runs"

    bench = place.start()
    assert bench.wait(600) == 0, place.log()

    assert len(place.folders) == RUNS, "each run has one folder, made at the first start"
    for one, content in kept.items():
        assert (one / "result.json").read_bytes() == content, "a finished run is not touched"
    for folder in place.folders:
        result, told = json.loads((folder / "result.json").read_text()), events(folder)
        assert (result["status"], result["valid_submission"], result["nodes"]) == ("finished", True, 2), place.log()
        assert [one["type"] for one in told].count("run.created") == 1
        done = [e["execution"] for e in told if e["type"] == "execution.ended" and e["reason"] == "finished"]
        assert done and len(done) == len(set(done)), "no execution was done twice"
        assert bot("audit", folder).exit_code == 0
