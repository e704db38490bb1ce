"""Whole runs on odd scores: a grader of their own, rare targets, and none but what scripts print."""

import csv
import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.evaluation.views.parts import final_places
from tests.bot.replay.conftest import Bot, results
from tests.tiny_snapshot import write_tiny

pytestmark = pytest.mark.integration


def unsplittable(folder: Path, *, readable: bool = True) -> Path:
    """Return a snapshot whose competition has a file of the name that ours would have; or no training table at all."""
    snapshot = write_tiny(folder / "tiny-table")
    manifest = json.loads((snapshot / "snapshot.json").read_text())
    (snapshot / "snapshot.json").write_text(json.dumps(manifest | {"sha256": {}}))
    if readable:
        (snapshot / "data" / "validation.csv").write_text("what,ever\n1,2\n")
    else:
        (snapshot / "data" / "train.csv").rename(snapshot / "data" / "learning.bin")
    return snapshot


def test_the_built_in_model_scores_itself_and_the_hidden_test_grades_it(bot: Bot, tmp_path: Path) -> None:
    snapshot = unsplittable(tmp_path / "s")
    options = ("--model", "builtin", "--steps", 1, "--sandbox", "process", "--json")
    (result,) = results(bot("replay", snapshot, *options))
    reason = "The competition already has a file named validation.csv."
    assert result["self_reported"] == reason
    assert result["valid_submission"] and result["score"] is not None and result["validation_score"] is not None
    assert (result["prediction_source"], result["final_score"]) == ("holdout", None)
    assert reason in result["self_reported"] and "no rows were withheld" in result["prediction_note"]
    run = Path(result["run"])
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    ended = [event for event in events if event["type"] == "node.ended" and event["status"] == "valid"]
    assert ended and all(event["self_reported"] for event in ended)
    evaluated = [event for event in events if event["type"] == "evaluation.added"]
    assert all(event["view"] == "holdout" and event["message"].startswith("self-reported: ") for event in evaluated)
    page = (run / "report.html").read_text()
    assert "Validation scores are self-reported" in page and reason in page


@pytest.mark.usefixtures("pageless")
def test_where_nothing_can_be_learnt_a_valid_file_is_handed_in_all_the_same(bot: Bot, tmp_path: Path) -> None:
    snapshot = unsplittable(tmp_path / "s", readable=False)
    options = ("--model", "builtin", "--steps", 1, "--sandbox", "process", "--json")
    (result,) = results(bot("replay", snapshot, *options))
    assert result["self_reported"].startswith("There is no train.csv")
    assert result["valid_submission"] and result["validation_score"] is None
    assert result["prediction_note"] == "the first valid file, because no script printed a score"


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


def relabelled(folder: Path, metric: str, label: Callable[[int], int]) -> Path:
    """Return the tiny snapshot with more rows, another metric, and labels by the number of the row."""
    snapshot = write_tiny(folder / "tiny-table", rows=1500)
    for name in ("data/train.csv", "private/answers.csv"):
        with (snapshot / name).open(newline="") as file:
            header, *rows = csv.reader(file)
        with (snapshot / name).open("w", newline="") as file:
            csv.writer(file).writerows([header, *([*row[:-1], label(n)] for n, row in enumerate(rows))])
    header, *scores = (snapshot / "leaderboard.csv").read_text().splitlines()
    (snapshot / "leaderboard.csv").write_text("\n".join([header, *reversed(scores)]) + "\n")
    manifest = json.loads((snapshot / "snapshot.json").read_text())
    own = {"metric": {"name": metric, "direction": "maximize", "params": {}}, "sha256": {}}
    (snapshot / "snapshot.json").write_text(json.dumps(manifest | own))
    return snapshot


@pytest.mark.trial
def test_scripts_pass_the_debug_run_and_are_scored_where_a_target_is_rare(bot: Bot, tmp_path: Path) -> None:
    snapshot = relabelled(tmp_path / "s", "spearman", lambda n: int(n % 250 == 7))
    options = ("--model", "builtin", "--steps", 2, "--sandbox", "process", "--json")
    (result,) = results(bot("replay", snapshot, *options))
    assert result["self_reported"] is None and result["valid_submission"]
    events = [json.loads(line) for line in (Path(result["run"]) / "events.jsonl").read_text().splitlines()]
    ended = [event for event in events if event["type"] == "node.ended"]
    assert {event["status"] for event in ended} == {"valid"}, ended
    tried = [event["view"] for event in events if event["type"] == "execution.started"]
    assert tried[:3] == ["holdout", "sample", "holdout"], "the baseline has no debug run"


@pytest.mark.usefixtures("light")
def test_a_truth_that_cannot_be_scored_is_reported_when_the_run_begins(bot: Bot, tmp_path: Path) -> None:
    snapshot = relabelled(tmp_path / "s", "roc_auc", lambda n: 1)
    done = bot("replay", snapshot, "--model", "builtin", "--steps", 1, "--sandbox", "process")
    reason = "the truth in column label (1) is the same in all 300 rows"
    assert "scores are self-reported by scripts: The metric roc_auc cannot score this view's labels" in done.output
    begun, _, rest = done.output.partition("node 1: ")
    assert reason in " ".join(begun.split()) and rest
