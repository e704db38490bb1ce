import json
from pathlib import Path

import pytest

from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.simulator.site.grader import open_grader
from scrapers.snapshots.snapshot import Snapshot
from tests.tiny_snapshot import write_tiny

SUMS = """
from mlebench.grade_helpers import InvalidSubmissionError


def grade(submission, answers):
    if len(submission) == len(answers) and not (submission["id"].to_numpy() == answers["id"].to_numpy()).all():
        raise InvalidSubmissionError("other ids")
    return float((submission["label"] - answers["label"]).abs().mean())
"""
WHOLE = SUMS.replace(
    "def grade(submission, answers):", "def grade(submission, answers):\n    assert len(answers) == 60"
)


def graded(folder: Path, source: str) -> Snapshot:
    """Return a snapshot whose metric is its own grader's."""
    path = write_tiny(folder / "tiny")
    manifest = json.loads((path / "snapshot.json").read_text())
    manifest["metric"]["name"] = "grade.py"
    (path / "snapshot.json").write_text(json.dumps(manifest))
    (path / "private" / "grade.py").write_text(source)
    return Snapshot.load(path, METRIC_DIRECTIONS)


@pytest.mark.integration
def test_the_public_and_the_private_part_are_scored_by_the_competitions_grader(tmp_path: Path) -> None:
    snapshot = graded(tmp_path, SUMS)
    grader = open_grader(snapshot, seed=1, public_share=0.25)
    assert grader.public is not None and grader.private is not None
    assert (len(grader.public), len(grader.private)) == (15, 45)
    ids = grader.test.truth.ids
    rows = dict(line.split(",") for line in snapshot.answers.read_text().splitlines()[1:])
    first = {ids[at] for at in grader.public[:3]}
    lines = [f"{one},{1 - int(value) if one in first else value}" for one, value in reversed(rows.items())]
    found = grader.grade(("id,label\n" + "\n".join(lines) + "\n").encode(), "submission.csv")
    assert (found.public, found.private, found.error) == (0.2, 0.0, None)
    assert "r0" not in str(grader.grade(b"id,label\n", "submission.csv").public)


@pytest.mark.integration
def test_a_grader_that_takes_whole_files_only_gives_one_score_for_both(tmp_path: Path) -> None:
    snapshot = graded(tmp_path, WHOLE)
    grader = open_grader(snapshot, seed=1, public_share=0.25)
    assert grader.public is None
    found = grader.grade((snapshot.data / "sample_submission.csv").read_bytes(), "submission.csv")
    assert found.public == found.private == 0.5
