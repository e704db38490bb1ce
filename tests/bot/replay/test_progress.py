"""The progress of replays: a table that fills on a terminal, and a pipe that is never silent for long."""

import io
import time
from pathlib import Path

from rich.console import Console

from bot.replay.progress import ProgressLine, ReplayProgress
from bot.replay.run_queue import Failed, Job, RunOutcome
from bot.report.result import RunResult
from tests.bot.report.test_words import BASE

DONE = RunOutcome(Path("a"), "a", RunResult.model_validate(BASE | {"win_rate": 0.75, "wall_seconds": 90.0}))
FAILED = RunOutcome(Path("b"), "b", Failed("wine", "comind", 1, "no disk", usage_error=False, status="failed"))


def rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in text.splitlines() if line.startswith("│")]


def shown(jobs: list[Job | RunOutcome], ended: int, *, terminal: bool = True, height: int = 40) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=100, height=height, color_system=None)
    table = ReplayProgress(console, jobs)
    with table.shown():
        for one in jobs[:ended]:
            assert isinstance(one, RunOutcome)
            table.ended(one)
        if terminal:
            console.print(table)
    return out.getvalue()


def test_a_terminal_has_a_row_for_each_run_with_what_came_of_it() -> None:
    text = shown([DONE, FAILED], 2)
    assert ["1", "wine", "aide", "0", "finished", "0.25", "75.0%", "1 min 30 s"] in rows(text)
    assert ["2", "wine", "comind", "1", "failed", "–", "–", "–"] in rows(text)
    assert "2 of 2 runs have ended" in text


def test_a_table_longer_than_the_terminal_shows_the_runs_around_the_present_one() -> None:
    last = shown([DONE] * 50, 25, height=18).rpartition("teams beaten")[2]
    numbers = [row[0] for row in rows(last) if row[0].isdecimal()]
    assert "25" in numbers and "1" not in numbers and "50" not in numbers


def test_a_pipe_has_no_table() -> None:
    assert shown([DONE, FAILED], 2, terminal=False) == ""


def test_on_a_pipe_a_long_step_is_named_again_and_again() -> None:
    out = io.StringIO()
    line = ProgressLine(Console(file=out, width=100), "comind on wine")
    line.say("node 3: draft")
    with line.going_on(quiet=0.01):
        until = time.monotonic() + 10
        while out.getvalue().count("\n") < 3 and time.monotonic() < until:
            time.sleep(0.01)
    assert out.getvalue().splitlines()[:3] == ["comind on wine: node 3: draft"] * 3
    printed = out.getvalue()
    time.sleep(0.05)
    assert out.getvalue() == printed, "and it ends with the run"
