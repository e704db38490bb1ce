"""`bot snapshot list meta-kaggle` and `bot snapshot import meta-kaggle`: tables, JSON and exit status."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bot.cli import app
from state.errors import UsageError
from tests.bot.research.importers.meta_kaggle.made_export import small_tables, write_export
from tests.bot.research.importers.mle_bench.prepared_folder import POINTER, numbers
from tests.needs import duckdb


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    duckdb()
    return write_export(tmp_path_factory.mktemp("meta-kaggle"), small_tables())


def bot(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["snapshot", *map(str, arguments)], catch_exceptions=True)


def slugs(tables: Path, *filters: object) -> list[str]:
    result = bot("list", "meta-kaggle", tables, "--json", *filters)
    return [competition["slug"] for competition in json.loads(result.stdout)["competitions"]]


def test_the_list_counts_what_came_before_the_deadline(tables: Path) -> None:
    result = bot("list", "meta-kaggle", tables)
    lines = [[cell.strip() for cell in line.split("│")[1:-1]] for line in result.stdout.splitlines() if "│" in line]
    assert ["tiny-cup", "2024-04-10", "3", "6", "3", "3", "Root Mean Squared Error", ""] in lines
    assert "2 of 4 competitions\n" in result.stdout
    assert "not listed: 1, because its deadline is before its start" in result.stdout


def test_the_list_can_be_filtered(tables: Path) -> None:
    assert slugs(tables) == ["old-cup", "tiny-cup"]
    assert slugs(tables, "--min-kernels", 1) == ["tiny-cup"]
    assert slugs(tables, "--min-messages", 7) == []
    assert slugs(tables, "--metric", "auc") == ["old-cup"]
    assert slugs(tables, "--mle-bench") == []


def test_a_competition_of_mle_bench_is_known_by_its_slug(tmp_path: Path) -> None:
    duckdb()
    made = small_tables()
    made["Competitions"][0]["Slug"] = "spooky-author-identification"
    assert slugs(write_export(tmp_path, made), "--mle-bench") == ["spooky-author-identification"]


def test_an_import_can_be_checked_and_says_that_it_has_no_data(tables: Path, tmp_path: Path) -> None:
    result = bot("import", "meta-kaggle", tables, "--competition", "tiny-cup", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert "tiny-cup: the snapshot has no data or answers, so it can be read but not replayed" in result.stdout
    checked = bot("check", tmp_path / "tiny-cup")
    assert checked.exit_code == 0, checked.output
    assert "dates: exact" in checked.stdout


def test_a_failure_is_shown_by_the_exit_status(tables: Path, tmp_path: Path) -> None:
    chosen = ("--competition", "endless-cup", "--competition", "tiny-cup")
    result = bot("import", "meta-kaggle", tables, *chosen, "--out", tmp_path, "--json")
    assert result.exit_code == 1
    assert {
        competition["slug"]: competition["status"] for competition in json.loads(result.stdout)["competitions"]
    } == {"endless-cup": "failed", "tiny-cup": "imported"}


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (["--competition", "tinycup"], "unknown competition 'tinycup': did you mean tiny-cup"),
        ([], "pass competitions with --competition, or a folder"),
        (["--competition", "tiny-cup", "--code", "nowhere"], "--code: no such folder: nowhere"),
    ],
)
def test_a_mistake_is_named(tables: Path, tmp_path: Path, chosen: list[str], message: str) -> None:
    result = bot("import", "meta-kaggle", tables, *chosen, "--out", tmp_path)
    assert isinstance(result.exception, UsageError)
    assert message in str(result.exception)


PLAN = """
competitions = ["snapshots/tiny-cup"]
agents = ["comind"]
models = ["builtin"]
[run]
steps = 1
time = "2m"
sandbox = "process"
"""


@pytest.mark.integration
def test_tables_and_what_mle_bench_prepared_become_a_bench(tables: Path, tmp_path: Path) -> None:
    numbers("tiny-cup", tmp_path)
    prepared = ("--data", tmp_path / "data", "--package", tmp_path / "competitions")
    result = bot("import", "meta-kaggle", tables, *prepared, "--out", tmp_path / "snapshots")
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in (tmp_path / "snapshots").iterdir()) == [".import.lock", "tiny-cup"]
    assert bot("check", tmp_path / "snapshots/tiny-cup").exit_code == 0
    (tmp_path / "plan.toml").write_text(PLAN)
    result = CliRunner().invoke(app, ["bench", str(tmp_path / "plan.toml"), "--json"])
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert (report["competition_id"], report["valid_submission"]) == ("tiny-cup", True)
    again = bot("import", "meta-kaggle", tables, *prepared, "--out", tmp_path / "snapshots")
    assert "already exists" in again.stdout


def test_what_mle_bench_did_not_prepare_well_or_the_export_lacks_is_named(tables: Path, tmp_path: Path) -> None:
    numbers("tiny-cup", tmp_path)
    numbers("unlisted-cup", tmp_path)
    (tmp_path / "competitions/tiny-cup/leaderboard.csv").write_text(POINTER)
    prepared = ("--data", tmp_path / "data", "--package", tmp_path / "competitions")
    result = bot("import", "meta-kaggle", tables, *prepared, "--out", tmp_path / "snapshots")
    assert result.exit_code == 1
    assert "tiny-cup: leaderboard.csv: is a Git LFS pointer" in result.stdout
    assert "unlisted-cup: not in the export" in result.stdout
