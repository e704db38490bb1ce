"""`bot status`: real databases, read while somebody writes to them, and nothing changed by it."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bot.cli import app
from bot.execution.folder import RunFolder
from sandbox.locks import is_held
from state.errors import UsageError
from state.progress import create_node, end_execution, end_node, end_run, start_execution
from state.spending import charge
from state.store import Store
from tests.state.conftest import StandingClock
from tests.state.rows import create_run

HOLDS = """
import sys
from pathlib import Path
from bot.execution.folder import RunFolder
with RunFolder(Path(sys.argv[1])).running():
    print("held", flush=True)
    sys.stdin.read()
"""


def prepared(out: Path, name: str, **settings: object) -> RunFolder:
    """Make a run's folder with its config.json."""
    folder = RunFolder(out / name)
    folder.make()
    chosen = {"steps": None, "time": 1000.0, **settings}
    folder.config.write_text(json.dumps({"run_id": name, "settings": chosen}))
    return folder


def write(folder: RunFolder, ended: str | None, begun: datetime) -> None:
    """Write a run that has spent something, with one node scored and one executed since 100 s after its start."""
    clock, run = StandingClock(begun), folder.path.name
    config = {"card": {"metric": {"name": "accuracy", "direction": "maximize"}}}
    with Store.open(folder.database, clock) as store:
        with store.write() as tx:
            create_run(tx, run, competition="wine", agent="a", model="m", seed=1, cutoff=None, config=config)
        clock.pass_by(100)
        with store.write() as tx:
            for node in (1, 2):
                create_node(tx, run, action="draft")
                start_execution(tx, run, f"n{node}-holdout-0", node=node, view="holdout")
            end_execution(tx, run, "n1-holdout-0", reason="finished", exit_code=0, seconds=3.0)
            end_node(tx, run, 1, "valid", score=0.75)
            charge(tx, run, "tokens", prompt_tokens=100, completion_tokens=10, cost_usd=0.25)
            charge(tx, run, "tokens", prompt_tokens=100)
            charge(tx, run, "execution", seconds=3.0, amount=1)
            if ended is not None:
                end_run(tx, run, ended)


def status(*arguments: object, exit_code: int = 0) -> dict[str, dict[str, Any]]:
    done = CliRunner().invoke(app, ["status", "--json", *map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == exit_code, done.output
    return {one["run_id"]: one for one in map(json.loads, done.stdout.splitlines())}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "runs"


def test_every_status_is_shown(out: Path) -> None:
    prepared(out, "waits")
    for ended in ("finished", "stopped", "failed"):
        write(prepared(out, ended), ended, datetime.now(UTC))
    write(prepared(out, "killed"), None, datetime.now(UTC))
    (out / "notes").mkdir()
    found = status(out)
    assert {name: one["status"] for name, one in found.items()} == {
        "waits": "not started",
        "finished": "finished",
        "stopped": "stopped",
        "failed": "failed",
        "killed": "stopped",
    }
    assert "its process has ended; the run can be resumed" in found["killed"]["note"]
    assert found["finished"]["best_score"] == 0.75
    assert found["finished"]["budget"]["wall_seconds"] == {"cap": 1000, "spent": 100, "left": 900, "projected": None}


@pytest.mark.integration
def test_a_running_run_shows_what_it_does_and_what_it_will_cost(out: Path) -> None:
    folder = prepared(out, "busy", steps=8, budget={"money": 2.0})
    write(folder, None, datetime.now(UTC) - timedelta(seconds=160))
    before = {path: path.stat().st_mtime_ns for path in folder.path.iterdir()}
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(folder.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "held\n"
        one = status(folder.path)["busy"]
        shown = CliRunner().invoke(app, ["status", str(out)], catch_exceptions=False).stdout
        with pytest.raises(UsageError, match="is in use by another process"), folder.running():
            pass
        other.communicate()
    assert one["status"] == "running"
    assert (one["nodes"], one["steps"], one["unpriced_calls"]) == (2, 8, 1)
    assert one["budget"]["money"] == {"cap": 2, "spent": 0.25, "left": 1.75, "projected": 1.0}
    assert one["budget"]["calls"]["spent"] == 2
    assert 160 <= one["budget"]["wall_seconds"]["spent"] < 600
    (doing,) = one["doing"]
    assert (doing["node"], doing["execution"], doing["view"]) == (2, "n2-holdout-0", "holdout")
    assert "spent 2 model calls, 210 tokens $0.2500 of $2.00 + 1 unpriced call" in " ".join(shown.split())
    assert "node 2 draft, runs on the hold-out view" in " ".join(shown.split()) and "2 experiments of 8" in shown
    assert {path: path.stat().st_mtime_ns for path in folder.path.iterdir()} == before
    assert not is_held(folder.config), "its process has ended"


def test_a_run_is_read_while_its_database_is_being_written(out: Path) -> None:
    folder = prepared(out, "written")
    write(folder, None, datetime.now(UTC))
    with Store.open(folder.database, StandingClock()) as store, store.write() as tx:
        create_node(tx, "written", action="draft")
        tx.session.flush()
        assert status(out)["written"]["nodes"] == 2, "what is not committed is not seen"


def test_what_cannot_be_read_is_shown_and_stops_no_other(out: Path) -> None:
    prepared(out, "garbage").database.write_bytes(b"garbage" * 100)
    prepared(out, "torn").config.write_text("{")
    write(prepared(out, "well"), "finished", datetime.now(UTC))
    found = status(out, exit_code=1)
    assert {name: one["status"] for name, one in found.items()} == {
        "garbage": "unreadable",
        "torn": "unreadable",
        "well": "finished",
    }
    assert "state.db cannot be read" in found["garbage"]["note"]


def test_a_run_of_the_daemons_is_named_as_such_and_is_nothing_to_audit(out: Path) -> None:
    run = prepared(out, "wine-live")
    run.config.write_text(json.dumps({"run_id": "wine-live", "live": True, "settings": {}}))
    assert (status(out)["wine-live"]["status"], run.database.exists()) == ("live", False)
    with pytest.raises(UsageError, match="is a live run of the daemon"):
        CliRunner().invoke(app, ["audit", str(run.path)], catch_exceptions=False)
    run.config.write_text(json.dumps({"run_id": "older", "settings": {"agent": "comind"}}))
    with pytest.raises(
        UsageError, match=r"is not a replay folder that this version can read: config\.json: .*snapshot"
    ):
        CliRunner().invoke(app, ["audit", str(run.path)], catch_exceptions=False)


def test_a_missing_folder_is_wrong_use_and_one_without_runs_is_reported_empty(out: Path) -> None:
    with pytest.raises(UsageError, match="not found"):
        CliRunner().invoke(app, ["status", str(out)], catch_exceptions=False)
    out.mkdir()
    assert "no runs" in CliRunner().invoke(app, ["status", str(out)], catch_exceptions=False).stdout
