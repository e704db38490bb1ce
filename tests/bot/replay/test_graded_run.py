"""A run on a competition whose metric is its own grade.py."""

import csv
import json
import math
import shutil
from pathlib import Path

import pytest

from bot.evaluation.views.parts import final_places
from tests.bot.replay.conftest import results

pytestmark = pytest.mark.integration

GRADER = """
from sklearn.metrics import log_loss

from mlebench.grade_helpers import InvalidSubmissionError

from .bounds import LEAST


def grade(submission, answers):
    if set(submission["id"]) != set(answers["id"]):
        raise InvalidSubmissionError("other ids")
    both = answers.merge(submission, on="id", suffixes=("", "_guess"))
    return log_loss(both["label"], both["label_guess"].clip(LEAST, 1 - LEAST))
"""


def own(tiny: Path, folder: Path) -> Path:
    """Return a copy of the snapshot whose metric is its own grader's."""
    shutil.copytree(tiny, folder)
    manifest = json.loads((folder / "snapshot.json").read_text())
    manifest["metric"]["name"] = "grade.py"
    (folder / "snapshot.json").write_text(json.dumps(manifest))
    (folder / "private" / "grade.py").write_text(GRADER)
    (folder / "private" / "bounds.py").write_text("LEAST = 1e-15\n")
    return folder


def column(file: Path) -> dict[str, float]:
    with file.open(newline="") as lines:
        return {row["id"]: float(row["label"]) for row in csv.DictReader(lines)}


def loss(truth: dict[str, float], guess: dict[str, float]) -> float:
    likely = [guess[one] if label else 1 - guess[one] for one, label in truth.items()]
    return -sum(math.log(min(max(chance, 1e-15), 1 - 1e-15)) for chance in likely) / len(truth)


def test_validation_and_hidden_scores_are_the_graders_and_the_result_says_so(bot, tiny, tmp_path) -> None:
    snapshot = own(tiny, tmp_path / "tiny-table")
    options = ("--model", "builtin", "--steps", 1, "--sandbox", "process", "--json")
    (result,) = results(bot("replay", snapshot, *options))
    run = Path(result["run"])
    assert result["grader"] == "competition"
    assert result["score"] == pytest.approx(
        loss(column(snapshot / "private" / "answers.csv"), column(run / "submission.csv")), abs=1e-5
    )
    labels = column(run / "evaluator" / "holdout" / "labels.csv")
    predicted = column(run / "executions" / "n1-holdout-0" / "validation_predictions.csv")
    apart = final_places(run / "evaluator" / "holdout")
    parts = ({id: y for at, (id, y) in enumerate(labels.items()) if (at in apart) is own} for own in (False, True))
    assert [result["validation_score"], result["final_score"]] == pytest.approx(
        [loss(part, predicted) for part in parts]
    )
    assert (run / "evaluator" / "grader" / "bounds.py").is_file()
    assert not list((run / "views").rglob("*grade*"))
    assert "the competition&#39;s own grade.py" in (run / "report.html").read_text()
