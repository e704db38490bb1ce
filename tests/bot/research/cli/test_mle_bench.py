import json

import pytest
from typer.testing import CliRunner

from bot.cli import app
from tests.tiny_snapshot import write_tiny

LABELLED = "tiny-table"


@pytest.fixture(scope="module")
def snapshots(tmp_path_factory):
    folder = tmp_path_factory.mktemp("snapshots")
    write_tiny(folder / LABELLED)
    return folder


def bot(*arguments):
    return CliRunner().invoke(app, ["mle-bench", *map(str, arguments)], catch_exceptions=True)


@pytest.mark.integration
def test_a_list_is_graded_written_down_and_averaged(snapshots, tmp_path):
    (tmp_path / "best.csv").write_text((snapshots / LABELLED / "private/answers.csv").read_text())
    (tmp_path / "torn.csv").write_text('id,label\n"r')
    lines = [{"competition_id": LABELLED, "submission_path": path} for path in ("best.csv", "torn.csv", None)]
    (tmp_path / "list.jsonl").write_text("# seeds\n" + "\n".join(map(json.dumps, lines)))
    done = bot("grade", tmp_path / "list.jsonl", "--snapshots", snapshots, "--out", tmp_path / "out", "--json")
    assert done.exit_code == 0, done.stderr
    (report,) = (tmp_path / "out").iterdir()
    assert report.name.endswith("_grading_report.json")
    assert json.loads(done.stdout) == json.loads(report.read_text())
    assert "0 of 3 submissions graded" in done.stderr and "torn.csv: torn.csv, row 1 opens a quote" in done.stderr
    averaged = bot("average", report, "--json")
    assert averaged.exit_code == 0
    assert json.loads(averaged.stdout)["num_seeds_averaged"] == 3
    assert json.loads(averaged.stdout)["metrics"]["any_medal_percentage"]["mean"] == pytest.approx(100 / 3)
    (tmp_path / "split.txt").write_text(f"{LABELLED}\nother\n")
    shown = bot("average", report, report, "--split", tmp_path / "split.txt", "--pad-missing")
    assert "6 seeds of 2 competitions" in shown.stdout and "16.67 ± 10.54 %" in shown.stdout


@pytest.mark.integration
def test_a_list_without_one_valid_submission_is_not_usable(snapshots, tmp_path):
    line = json.dumps({"competition_id": LABELLED, "submission_path": None})
    (tmp_path / "list.jsonl").write_text(line)
    done = bot("grade", tmp_path / "list.jsonl", "--snapshots", snapshots, "--out", tmp_path)
    assert done.exit_code == 1
    assert "not valid: tiny-table, no file: There is no submission." in done.stderr
