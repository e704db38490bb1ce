"""Whole runs on a person's own data: from a folder, a zip or one table to predictions, a package and a report."""

import csv
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.bot.replay.conftest import Bot, results

STEPS = ("--steps", "2", "--time", "6m", "--sandbox", "process", "--json")

pytestmark = pytest.mark.integration


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def flowers(tiny: Path, name: str) -> list[dict[str, Any]]:
    """Rows of the tiny table, whose label is a word, without ids."""
    rows = [{key: cell for key, cell in row.items() if key != "id"} for row in table(tiny / f"data/{name}.csv")]
    return [{**row, "label": ["rose", "tulip"][int(row["label"])]} if "label" in row else row for row in rows]


def predicted(package: Path, new: Path, out: Path) -> list[dict[str, str]]:
    """Predict new rows with a package alone: the bot's own code is not on its way."""
    done = subprocess.run(
        [sys.executable, str(package / "predict.py"), str(new), "--out", str(out)],
        cwd=out.parent,
        env={"PATH": os.environ["PATH"], "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return table(out)


def test_a_zip_is_solved_without_answers_and_its_package_predicts_new_rows(bot, tiny, tmp_path) -> None:
    write(tmp_path / "flowers/train.csv", flowers(tiny, "train"))
    write(tmp_path / "flowers/test.csv", flowers(tiny, "test"))
    source = shutil.make_archive(str(tmp_path / "flowers"), "zip", tmp_path, "flowers")
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "plan.md").write_text("Boosted trees on the columns a and b were best in all our trials so far.")
    done = bot("solve", source, *STEPS, "--notes", notes, "--out", tmp_path / "runs")
    assert done.exit_code == 0, done.output
    assert "target: `label`, the only column missing from test.csv" in done.stderr
    assert "each part contains the same 2 classes" in done.stderr
    (result,) = results(done)
    run = Path(result["run"])
    assert result["own_data"] and result["score"] is None and result["valid_submission"]
    low, high = result["validation_interval"]
    assert low <= result["validation_score"] <= high and result["validation_score"] > 0.6
    trees, constant = result["simple_models"]
    assert trees["name"].startswith("HistGradientBoosting") and constant["validation"] == 0.5
    assert result["notes"]["read"] == 1
    made = table(run / "submission.csv")
    assert len(made) == 60 and set(made[0]) == {"row", "rose", "tulip"}
    page = (run / "report.html").read_text()
    assert "leaderboard" not in page.lower() and "team" not in page.split("<main>")[0]
    assert "a constant 0.5." in page
    assert "The hold-out score is" in page and "predict.py NEW.csv" in page
    assert bot("audit", run).exit_code == 0

    package = Path(shutil.move(run / "solution", tmp_path / "package"))
    needs = (package / "README.md").read_text()
    assert f"Python {sys.version.split()[0]}" in needs and "numpy==" in (package / "requirements.txt").read_text()
    shutil.rmtree(run)
    known = flowers(tiny, "train")[:40]
    new = write(tmp_path / "new.csv", [{key: row[key] for key in ("c", "b", "a")} for row in known])
    rows = predicted(package, new, tmp_path / "out.csv")
    right = sum((float(row["tulip"]) > 0.5) == (one["label"] == "tulip") for row, one in zip(rows, known, strict=True))
    assert right > 28


def test_of_one_table_rows_are_withheld_scored_at_the_end_and_kept_in_the_package(bot, tiny, tmp_path) -> None:
    rows = flowers(tiny, "train")
    source = write(tmp_path / "flowers.csv", rows)
    done = bot("solve", source, "--target", "label", *STEPS, "--out", tmp_path / "runs")
    assert done.exit_code == 0, done.output
    (result,) = results(done)
    run = Path(result["run"])
    assert result["score"] > 0.5 and result["n_teams"] == 0 and not result["any_medal"]
    assert result["community"] is None, "nobody has written anything"
    assert len(table(run / "submission.csv")) == 48
    assert list((run / "solution/weights").rglob("*.joblib"))
    assert len(table(run / "solution/data/train.csv")) == len(rows), (
        "with --retrain it learns from the withheld ones too"
    )
    assert "have not learned from the 48 rows that were withheld" in (run / "solution/README.md").read_text()
    assert "--retrain" in (run / "solution/README.md").read_text()
    assert not list((run / "solution").rglob("answers.csv"))
    assert "on rows withheld from the search" in (run / "report.html").read_text()
    (run / "result.json").unlink()
    resumed = bot("resume", tmp_path / "runs", "--json")
    assert resumed.exit_code == 0 and results(resumed)[0]["own_data"], resumed.output


@pytest.mark.usefixtures("pageless")
def test_a_result_that_a_constant_beats_is_submitted_by_force_alone(bot: Bot, tmp_path: Path) -> None:
    rng = random.Random(0)
    noise = [{name: rng.gauss(0, 1) for name in ("a", "b", "c", "y")} for _ in range(200)]
    source = write(tmp_path / "noise.csv", noise)
    command = ("solve", source, "--target", "y", "--steps", "1", *STEPS[2:])
    (result,) = results(bot(*command, "--out", tmp_path / "runs"))
    assert not result["submission_exists"] and not (Path(result["run"]) / "submission.csv").exists()
    assert "a constant" in result["prediction_note"] and "--force" in result["prediction_note"]
    (forced,) = results(bot(*command, "--force", "--out", tmp_path / "forced"))
    assert forced["valid_submission"] and len(table(Path(forced["run"]) / "submission.csv")) == 40
