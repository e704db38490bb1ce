"""The progress of a bench: a table on a terminal, a line a run on a pipe."""

import io
from pathlib import Path

from rich.console import Console

from bot.replay.run_queue import Failed, RunOutcome
from bot.report.result import read_result
from bot.research.bench.bench import Bench, contender_of, prepare_bench
from bot.research.bench.progress import BenchProgress
from tests.bot.replay.conftest import tiny
from tests.bot.research.bench.test_plan import HERE, NOW, finish, place, planned

__all__ = ["place", "tiny"]


def shown(bench: Bench, *, terminal: bool) -> str:
    """Return what is shown of a bench whose first run has finished, whose second has failed, and whose third is running."""
    out = io.StringIO()
    progress = BenchProgress(Console(file=out, force_terminal=terminal, width=130, color_system=None), bench)
    first, second, third = bench.runs[:3]
    assert first.folder and second.folder
    with progress.live.display():
        progress.record_outcome(first, RunOutcome(first.folder.path, "first", read_result(first.folder)))
        failure = Failed.from_error(OSError("the disk [full]"), second.settings, second.key[0])
        progress.record_outcome(second, RunOutcome(second.folder.path, "second", failure))
        assert third.folder
        with progress.started(third, third.folder) as say:
            say("node 4: draft")
    return out.getvalue()


def test_a_pipe_gets_a_line_for_each_run_that_ended(place: Path) -> None:
    bench = prepare_bench(planned(place), HERE, 0, NOW)
    finish(bench, 0)
    one, two = shown(bench, terminal=False).splitlines()
    assert one == "[1/12] tiny-table-one, seed 3: comind: beats 50.0% of the teams, no medal; 9 min 50 s, $0.5000"
    assert two == "[2/12] tiny-table-one, seed 3: comind no-community no-blend: failed: the disk [full]"


def test_a_terminal_has_a_row_for_each_agent_and_a_line_of_what_is_done_now(place: Path) -> None:
    bench = prepare_bench(planned(place), HERE, 0, NOW)
    finish(bench, 0)
    text = shown(bench, terminal=True)
    rows = {
        cells[0]: cells[1:]
        for line in text.splitlines()
        if len(cells := [c.strip() for c in line.split("│")[1:-1]]) == 9
    }
    assert rows["comind"][:5] == ["1 of 4", "0", "1", "50.0%", "0"]
    assert rows["comind no-community no-blend"][:5] == ["1 of 4", "1", "0", "–", "0"]
    assert rows["aide"][0] == "0 of 4"
    assert {contender_of(run.settings).title(with_model=False) for run in bench.runs} == set(rows)
    assert "2 of 12 runs, used 9 min 50 s, $0.5000" in text


def test_the_engines_baseline_counts_for_no_agent(place: Path) -> None:
    bench = prepare_bench(planned(place), HERE, 0, NOW)
    finish(bench, 0, baseline_submitted=True, prediction_source="holdout")
    assert "comind: no submission of its own, only the engine's baseline; 9 min" in shown(bench, terminal=False)
    *_, row = (line for line in shown(bench, terminal=True).splitlines() if line.startswith("│ comind  "))
    assert [cell.strip() for cell in row.split("│")[3:8]] == ["0", "0", "0.0%", "0", "1 baseline"]


def test_a_constant_counts_for_no_agent_and_is_named(place: Path) -> None:
    finding = {"guard": "constant", "verdict": "suspicious", "sentence": "all alike", "spoils": True, "node": 1}
    bench = prepare_bench(planned(place), HERE, 0, NOW)
    finish(bench, 0, baseline_submitted=True, prediction_source="refit", guards=[finding])
    assert "comind: no submission of its own, only a constant; 9 min" in shown(bench, terminal=False)
    *_, row = (line for line in shown(bench, terminal=True).splitlines() if line.startswith("│ comind  "))
    assert [cell.strip() for cell in row.split("│")[3:8]] == ["0", "0", "0.0%", "0", "1 constant"]


def test_while_runs_are_under_way_each_has_a_line(place: Path) -> None:
    bench = prepare_bench(planned(place), HERE, 0, NOW)
    finish(bench, 0)
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=110, color_system=None)
    progress = BenchProgress(console, bench)
    first, second, third = bench.runs[:3]
    assert first.folder and second.folder and third.folder
    progress.record_outcome(first, RunOutcome(first.folder.path, "first", read_result(first.folder)))
    with progress.started(second, second.folder) as one, progress.started(third, third.folder) as other:
        one("node 2: draft")
        other("node 4: improve of node 2")
        console.print(progress.live)
    lines = out.getvalue().splitlines()
    assert lines[-2].startswith("[2/12] tiny-table-one, seed 3: comind no-community no-blend: node 2: draft")
    assert lines[-1].startswith("[3/12] tiny-table-one, seed 3: aide: node 4: improve of node 2")
