"""`bot bench` at work: killed and started again, with a run that fails, and at the end of its budget."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.execution.folder import run_folders
from tests.bot.replay.conftest import Bot, bot, tiny
from tests.bot.replay.scripted_answers import Answers
from tests.chaos.invariants import events
from tests.chaos.world import wait_until
from tests.scripted_endpoint import ScriptedEndpoint

pytestmark = pytest.mark.integration
__all__ = ["bot", "tiny"]

PLAN = """
competitions = ["one", "two"]
agents = ["comind no-community no-blend", "aide"]
models = ["openai:scripted"]
[run]
steps = 2
time = "5m"
sandbox = "process"
"""


@pytest.fixture(autouse=True)
def endpoint(bot: Bot, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have a model whose scripts take a moment: those of the built-in one load libraries for seconds."""
    with ScriptedEndpoint(Answers()) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        yield


@pytest.fixture
def plan(tiny: Path, tmp_path: Path) -> Path:
    """Return a plan of four runs: two competitions, two agents."""
    for name in ("one", "two"):
        shutil.copytree(tiny, tmp_path / name)
        manifest = tmp_path / name / "snapshot.json"
        manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"slug": f"tiny-{name}"}))
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path / "plan.toml"


def folders(plan: Path) -> list[Path]:
    return [folder.path for folder in run_folders([plan.parent / "plan-runs"])]


def killed(plan: Path, number: int) -> None:
    """Start the bench, and kill it as soon as the first script of its n-th run, from 0, is running."""

    def begun() -> bool:
        there = folders(plan)
        # Looking into a database that is not there would make an empty one.
        if len(there) < 4 or not (there[number] / "state.db").is_file():
            return False
        return any(one["type"] == "execution.started" for one in events(there[number]))

    with (plan.parent / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "bot", "bench", str(plan)], stdout=log, stderr=log, env={**os.environ}
        )
    seen = wait_until(begun, 900)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert seen, (plan.parent / "log").read_text()


def test_a_bench_goes_on_after_kills_a_failed_run_and_the_end_of_its_budget_and_repeats_nothing(bot, plan) -> None:
    """The first run fails; then the budget does not cover the second competition, until it is larger."""
    plan.write_text(PLAN + '[budget]\ntime = "10m"\n')
    killed(plan, 0)
    broken = folders(plan)[0] / "state.db"
    for log in broken.parent.glob("state.db-*"):
        log.unlink()  # from which it would be mended
    broken.write_bytes(b"no database" * 1000)
    done = bot("bench", plan)
    assert done.exit_code != 0, done.stderr
    assert [(one / "result.json").is_file() for one in folders(plan)] == [False, True, False, False], done.stderr
    failed, ended = (line for line in done.stderr.splitlines() if line.startswith(("[1/4]", "ended:")))
    assert failed.startswith("[1/4] tiny-one, seed 0: comind no-community no-blend: failed: ")
    assert ended.endswith("of the bench's budget of 10 min 00 s is left")
    assert "3 of 4 runs remain" in done.stderr
    assert "The comparison omits 3 unfinished runs" in " ".join(done.stdout.split())
    broken.unlink()
    plan.write_text(PLAN + '[budget]\ntime = "1h"\n')
    killed(plan, 3)
    assert len(folders(plan)) == 4, "each run has one folder, made at the first start"
    before = {one: (one / "result.json").read_bytes() for one in folders(plan)[:3]}
    done = bot("bench", plan)
    assert done.exit_code == 0, done.output
    for one, content in before.items():
        assert (one / "result.json").read_bytes() == content, "a finished run is not touched"
    kinds = [[one["type"] for one in events(folder)] for folder in folders(plan)]
    assert [each.count("run.resumed") for each in kinds] == [0, 0, 0, 1], "the run that failed was tried again"
    assert [each.count("run.ended") for each in kinds] == [1, 1, 1, 1]
    assert "3 finished; the remaining runs take up to" in done.stderr.replace("\n", " ")
    assert [line.split(":")[0] for line in done.stderr.splitlines() if line.startswith("[4/4]")] == [
        "[4/4] tiny-two, seed 0"
    ]
    assert "Based on 2 pairs of runs on 2 competitions with 1 seed" in done.stdout
    again = bot("bench", plan, "--json")
    told = [json.loads(line) for line in again.stdout.splitlines()]
    assert [(one["competition_id"], one["agent"], one["variant"]) for one in told] == [
        ("tiny-one", "comind", ["no-community", "no-blend"]),
        ("tiny-one", "aide", []),
        ("tiny-two", "comind", ["no-community", "no-blend"]),
        ("tiny-two", "aide", []),
    ]
    assert all(one["valid_submission"] and one["time_limit"] == 300.0 for one in told)
