"""How long a grader may take, and that one that hangs does not hold an import up for longer."""

from pathlib import Path

import pytest

from bot.research.metric_search.grade_calls import grader_of, limits_for
from state.errors import SnapshotError
from tests.bot.research.importers.mle_bench.prepared_folder import write_table


@pytest.mark.parametrize(("rows", "seconds"), [(0, 120.0), (1_000_000, 180.0), (30_000_000, 600.0)])
def test_the_time_of_a_score_grows_with_the_answers_up_to_ten_minutes(
    tmp_path: Path, rows: int, seconds: float
) -> None:
    (tmp_path / "answers.csv").write_bytes(b"\n" * rows)
    assert limits_for(tmp_path / "answers.csv").seconds == seconds


@pytest.mark.integration
def test_a_grader_that_hangs_is_stopped_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.research.metric_search.grade_calls._SECONDS", 2.0)
    (tmp_path / "grade.py").write_text("def grade(submission, answers):\n    while True:\n        pass\n")
    write_table(tmp_path / "answers.csv", ("id", "y"), [(1, 2)])
    with (
        pytest.raises(SnapshotError, match=r"grade.py took longer than 2"),
        grader_of(tmp_path / "grade.py", tmp_path / "answers.csv") as call,
    ):
        call(tmp_path / "answers.csv")
