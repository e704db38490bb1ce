import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bot.cli import app
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from scrapers.snapshots.snapshot import Snapshot
from state.errors import UsageError
from tests.bot.research.importers.mle_bench.prepared_folder import (
    POINTER,
    authors,
    breaths,
    numbers,
    questions,
    spoken,
    write_board,
)


def run(root: Path, *more: str) -> Any:
    arguments = ["snapshot", "import", "mle-bench", str(root / "data"), "--out", str(root / "out")]
    return CliRunner().invoke(app, [*arguments, "--package", str(root / "competitions"), *more])


@pytest.mark.integration
def test_a_folder_of_competitions_is_imported_with_metrics_found_by_their_own_graders(tmp_path: Path) -> None:
    numbers("sums", tmp_path)
    authors("authors", tmp_path)
    spoken("spoken", tmp_path)
    breaths("breaths", tmp_path)
    questions("asked", tmp_path)
    numbers("turned", tmp_path, lower_is_better=False)
    done = run(tmp_path, "--json")
    assert done.exit_code == 1
    outcomes = {one["slug"]: one for one in json.loads(done.stdout)["competitions"]}
    metrics = {slug: (one["metric"], one["direction"]) for slug, one in outcomes.items()}
    assert metrics == {
        # each is called otherwise in its configuration
        "sums": ("rmse", "minimize"),
        "authors": ("log_loss", "minimize"),
        "spoken": ("accuracy", "maximize"),
        "breaths": ("grade.py", "minimize"),
        "asked": ("grade.py", "maximize"),
        "turned": (None, None),
    }
    assert "contradiction" in outcomes["turned"]["problems"][0]
    params = {
        slug: Snapshot.load(tmp_path / "out" / slug, METRIC_DIRECTIONS).card.metric.params
        for slug in metrics
        if slug != "turned"
    }
    assert params["breaths"] == {"predictions": "number", "answers": "whole_answers.csv"}
    assert params["asked"] == {"predictions": "text", "answers": "test.jsonl"}
    again = run(tmp_path, "--competition", "sums")
    assert (again.exit_code, "already exists" in again.stdout) == (0, True)


def test_what_is_wrong_with_a_competition_stands_in_the_table_and_in_the_exit_status(tmp_path: Path) -> None:
    numbers("sums", tmp_path)
    (tmp_path / "competitions/sums/leaderboard.csv").write_text(POINTER)
    done = run(tmp_path)
    assert done.exit_code == 1
    assert "sums: leaderboard.csv: is a Git LFS pointer instead of the file itself: run `git lfs pull`" in done.stdout
    assert json.loads(run(tmp_path, "--json").stdout)["failed"] == 1


def test_without_a_terminal_a_line_shows_that_a_competition_is_started(tmp_path: Path) -> None:
    numbers("sums", tmp_path)
    (tmp_path / "competitions/sums/leaderboard.csv").write_text(POINTER)
    lines = run(tmp_path).stderr.splitlines()
    assert lines[0] == "1 of 1: sums: started"
    assert lines[-1].startswith("1 of 1: sums: failed: ")


def test_what_a_killed_import_left_is_removed(tmp_path: Path) -> None:
    numbers("sums", tmp_path)
    (tmp_path / "competitions/sums/leaderboard.csv").write_text(POINTER)
    for name in (".import-gone/data", ".kept", "other/data"):
        (tmp_path / "out" / name).mkdir(parents=True)
    run(tmp_path)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {".import.lock", ".kept", "other"}


def test_a_board_without_dates_asks_for_the_options(tmp_path: Path) -> None:
    numbers("sums", tmp_path)
    write_board(tmp_path / "competitions/sums/leaderboard.csv", dated=False)
    assert "--enabled-at and --deadline" in run(tmp_path).stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--enabled-at", "2019-01-01T00:00:00Z"], "must be given together"),
        (["--enabled-at", "2019-01-01T00:00:00Z", "--deadline", "2018-01-01T00:00:00Z"], "is before"),
        (["--enabled-at", "yesterday", "--deadline", "2018-01-01T00:00:00Z"], "not a time"),
        (["--competition", "titanic"], "not found: titanic; available: sums"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_done(tmp_path: Path, options: list[str], message: str) -> None:
    numbers("sums", tmp_path)
    done = run(tmp_path, *options)
    assert isinstance(done.exception, UsageError)
    assert message in str(done.exception)
    assert not (tmp_path / "out").exists()


def test_a_folder_without_competitions_is_wrong_use(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "competitions").mkdir()
    assert "contains no competition" in str(run(tmp_path).exception)
