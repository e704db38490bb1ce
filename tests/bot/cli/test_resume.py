"""`bot resume` from the outside: what it finishes, what it leaves alone, and what it refuses."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.execution.folder import run_folders
from bot.replay.prepare import prepare
from bot.replay.settings import ReplaySettings
from scrapers.snapshots.snapshot import Snapshot
from state.errors import UsageError
from tests.bot.replay.conftest import Bot, bot, light, results, tiny
from tests.bot.replay.scripted_answers import Answers
from tests.chaos.invariants import events
from tests.chaos.world import wait_until
from tests.scripted_endpoint import ScriptedEndpoint

__all__ = ["bot", "light", "tiny"]

OPTIONS = ("--model", "openai:scripted", "--steps", "2", "--no-community", "--sandbox", "process", "--json")


@pytest.fixture(autouse=True)
def endpoint(bot: Bot, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have a model whose scripts take a moment: those of the built-in one load libraries for seconds."""
    with ScriptedEndpoint(Answers()) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        yield


def killed(tiny: Path, place: Path, *options: str) -> None:
    """Start a replay in `runs` and kill it when its first execution has begun."""
    command = [sys.executable, "-m", "bot", "replay", str(tiny), "--out", str(place / "runs"), *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def begun() -> bool:
        return any(e["type"] == "execution.started" for run in place.glob("runs/*") for e in events(run))

    assert wait_until(begun, 180)
    process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.mark.integration
@pytest.mark.usefixtures("light")
def test_a_killed_run_goes_on_and_one_that_never_began_is_run(bot: Bot, tiny: Path, tmp_path: Path):
    killed(tiny, tmp_path, *OPTIONS, "--seeds", "2")
    done = bot("resume", tmp_path / "runs", "--json")
    assert done.exit_code == 0, done.output
    found = results(done)
    assert [(r["seed"], r["status"], r["nodes"]) for r in found] == [(0, "finished", 2), (1, "finished", 2)]
    again = results(bot("resume", tmp_path / "runs", "--json"))
    assert [r["wall_seconds"] for r in again] == [r["wall_seconds"] for r in found], "a finished run is left alone"


@pytest.mark.integration
@pytest.mark.usefixtures("light")
def test_a_killed_run_that_was_moved_goes_on_in_one_process_without_the_time_in_which_nobody_worked(
    bot, tiny, tmp_path
):
    began = time.monotonic()
    shutil.copytree(tiny, tmp_path / "old" / "tiny-table")
    killed(tmp_path / "old" / "tiny-table", tmp_path, *OPTIONS)
    time.sleep(4)
    (tmp_path / "runs").rename(tmp_path / "elsewhere")
    (tmp_path / "old").rename(tmp_path / "new")
    lost = bot("resume", tmp_path / "elsewhere", "--json")
    assert lost.exit_code == 1
    assert "snapshot" in results(lost)[0]["error"]
    where = ("--snapshot", tmp_path / "new" / "tiny-table")
    command = [sys.executable, "-m", "bot", "resume", tmp_path / "elsewhere", *where]
    with (tmp_path / "log").open("wb") as log:
        other = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ})
    try:
        assert wait_until(lambda: any(word in (tmp_path / "log").read_bytes() for word in (b"again", b"node")), 180)
        refused = bot("resume", tmp_path / "elsewhere", *where, "--json")
        assert refused.exit_code == 2
        assert "another process" in results(refused)[0]["error"]
    finally:
        other.wait(300)
    (run,) = run_folders([tmp_path / "elsewhere"])
    result = json.loads(run.result.read_text())
    assert result["status"] == "finished"
    assert result["valid_submission"]
    assert result["wall_seconds"] < time.monotonic() - began - 4
    (resumed,) = [e for e in events(run.path) if e["type"] == "run.resumed"]
    assert resumed["gap_seconds"] >= 4
    ended = next(e for e in events(run.path) if e["type"] == "node.ended" and e["node"] == 1)
    assert ended["seconds"] < result["wall_seconds"]
    assert bot("audit", run.path, *where).exit_code == 0


def test_a_folder_without_runs_is_one_clear_sentence(bot: Bot, tmp_path: Path):
    with pytest.raises(UsageError, match="no runs in"):
        bot("resume", tmp_path)


def test_a_run_goes_on_on_the_fleet_that_it_began_with_unless_another_is_named(bot, tiny, tmp_path, monkeypatch):
    snapshot, now = Snapshot.load(tiny, METRIC_DIRECTIONS), datetime(2030, 1, 1, tzinfo=UTC)
    begun = ReplaySettings(snapshot=tiny, cutoff=now, model="builtin", sandbox="process", cpus=1)
    settings = [begun.model_copy(update={"fleet": fleet}) for fleet in ("auto", None)]
    on_fleet, here = (run.folder.path for run in prepare([(snapshot, one) for one in settings], tmp_path, now))
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match=r"the fleet at auto requires Ray, which is not installed"):
        bot("resume", on_fleet)
    with pytest.raises(UsageError, match=r"the fleet at ray://there:1 requires Ray"):
        bot("resume", here, "--fleet", "ray://there:1")
