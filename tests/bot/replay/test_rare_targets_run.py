"""Runs on metrics that are undefined on constants: rare targets fail no script, and a constant truth is reported at once."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bot.replay.conftest import Bot, results
from tests.tiny_snapshot import write_tiny

pytestmark = pytest.mark.integration


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
    assert [event["status"] for event in ended] == ["valid", "valid"], ended
    tried = [event["view"] for event in events if event["type"] == "execution.started"]
    assert tried[:3] == ["holdout", "sample", "holdout"], "the baseline has no debug run"


@pytest.mark.usefixtures("light")
def test_a_truth_that_cannot_be_scored_is_reported_when_the_run_begins(bot: Bot, tmp_path: Path) -> None:
    snapshot = relabelled(tmp_path / "s", "roc_auc", lambda n: 1)
    done = bot("replay", snapshot, "--model", "builtin", "--steps", 1, "--sandbox", "process")
    reason = "the truth of column label (1) is constant in all 300 rows"
    assert "scores are what scripts print: The metric roc_auc cannot score this view's labels" in done.output
    begun, _, rest = done.output.partition("node 1: ")
    assert reason in " ".join(begun.split()) and rest
