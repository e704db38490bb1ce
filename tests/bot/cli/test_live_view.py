"""The live view of runs: a panel from the run's database on a terminal, and a log that is never silent for long."""

import io
import re
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from rich.console import Console

from bot.cli.live_view import LiveRuns, sparkline
from bot.cli.running import run_all
from bot.coder.lab.steps import TURN
from bot.execution.folder import RunFolder
from bot.replay.run_queue import Failed, RunOutcome
from bot.report.result import RunResult
from sandbox.leases import Leases
from state.labs import open_lab
from state.steps import Key, StepKind, finish_step, start_step
from state.store import Store
from tests.bot.cli.test_status import prepared, write
from tests.bot.report.test_words import BASE
from tests.state.conftest import StandingClock

DONE = RunOutcome(Path("a"), "a", RunResult.model_validate(BASE | {"win_rate": 0.75, "wall_seconds": 90.0}))
FAILED = RunOutcome(Path("b"), "b", Failed("wine", "comind", 1, "no disk", usage_error=False, status="failed"))


def begun(folder: RunFolder) -> None:
    """Write a run that has gone on for 110 s, and whose coder's command has run for 10 s."""
    now = datetime.now(UTC)
    write(folder, None, now - timedelta(seconds=110))
    replied = StepKind("turn:1", dict[str, str])
    with Store.open(folder.database, StandingClock(now - timedelta(seconds=10))) as store, store.write() as tx:
        run = folder.path.name
        open_lab(tx, run, 1, draft_id=None, parents=[], title="trees")
        start_step(tx, run, replied, Key(1))
        finish_step(tx, run, replied, {"text": "Now the model.\n```sh\npython train.py --folds 5\n```"}, Key(1))
        start_step(tx, run, TURN, Key(1, attempt=1))


def test_a_terminal_shows_time_score_commands_and_spending_of_a_run(tmp_path: Path) -> None:
    folder = prepared(tmp_path, "r")
    begun(folder)
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=160, color_system=None)
    live = LiveRuns(console)
    with folder.running(), live.run("comind on wine", folder) as say:
        say("waiting since 10:00:00 for 2 cores, which bot run (process 42) has now")
        console.print(live)
    text = out.getvalue()
    cells = {line.split()[1]: line for line in text.splitlines() if line.startswith("│")}
    assert "comind on wine" in text and f"`bot resume {tmp_path}` continues" in text
    assert "of 16 min 40 s" in cells["search"]
    assert "0.75" in cells["best"] and "/min" in cells["best"]
    assert re.search(r"python train\.py --folds 5 .* 1\d\.\d s ", cells["lab"])
    assert "draft, runs on the hold-out view" in cells["node"]
    assert "2 model calls, 210 tokens" in cells["spent"]
    assert "which bot run (process 42) has now" in text


def test_of_many_runs_each_has_two_lines(tmp_path: Path) -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=110, color_system=None)
    live = LiveRuns(console)
    with (
        live.run("aide on wine", RunFolder(tmp_path / "a")) as say,
        live.run("comind on wine", RunFolder(tmp_path / "b")),
    ):
        say("node 2: draft")
        console.print(live)
    assert out.getvalue().splitlines() == ["aide on wine: node 2: draft", "comind on wine: starting"]


def test_a_pipe_gets_lines_and_a_long_step_is_named_again(tmp_path: Path) -> None:
    folder = prepared(tmp_path, "r")
    begun(folder)
    out = io.StringIO()
    live = LiveRuns(Console(file=out, width=100), plain=True)
    with folder.running(), live.display(), live.run("comind on wine", folder) as say:
        say("node 3: draft")
        with live.runs[0].never_silent(quiet=0.01):
            until = time.monotonic() + 10
            while out.getvalue().count("\n") < 2 and time.monotonic() < until:
                time.sleep(0.01)
    first, second, *_ = out.getvalue().splitlines()
    assert first.startswith("comind on wine: node 3: draft | best 0.75 | 11") and first.endswith(" of 1000 s | $0.25")
    assert "lab 1: python train.py --folds 5, for 1" in second
    printed = out.getvalue()
    time.sleep(0.05)
    assert out.getvalue() == printed, "and it ends with the run"


def test_the_best_score_over_time_rises_whatever_the_metric() -> None:
    assert sparkline([(10.0, 0.9), (50.0, 0.5), (75.0, 0.1)], 100.0, width=10) == "▁▁▁▁▅▅▅███"
    assert sparkline([(10.0, 0.9)], 100.0, width=4) == "▁▁▁▁"
    assert sparkline([], 100.0) == ""


def test_of_several_runs_each_that_ends_has_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_all([DONE, FAILED], Leases(tmp_path), json=False) == [DONE, FAILED]
    assert capsys.readouterr().err.splitlines() == [
        "a: beats 75.0% of the teams, no medal; 1 min 30 s, unknown",
        "b: failed: no disk",
    ]
