"""Runs on data that labels cannot be withheld from: scores are what scripts print, and every output notes it."""

import json
from pathlib import Path

import pytest

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
    options = ("--model", "builtin", "--steps", 2, "--sandbox", "process", "--json")
    (result,) = results(bot("replay", snapshot, *options))
    reason = "The competition has a file validation.csv of its own."
    assert result["self_reported"] == reason
    assert result["valid_submission"] and result["score"] is not None and result["validation_score"] is not None
    assert (result["handed_in"], result["final_score"]) == ("holdout", None)
    assert reason in result["self_reported"] and "no rows were withheld" in result["handed_in_note"]
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
    assert result["handed_in_note"] == "the first file that is valid: no script printed a score"
