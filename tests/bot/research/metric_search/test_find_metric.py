from collections.abc import Sequence
from pathlib import Path

import pytest

from bot.research.metric_search.find_metric import find_metric
from bot.research.metric_search.grade_calls import MetricQuestion
from state.errors import SnapshotError
from tests.bot.research.importers.mle_bench.prepared_folder import RMSE, write_table

pytestmark = pytest.mark.integration

ROWS = [(f"n{place}", round(place * 0.37 % 5 + place % 7, 3)) for place in range(300)]
WHOLE_ONLY = RMSE.replace("    return float", "    if len(answers) != 300:\n        raise ValueError\n    return float")
OTHER_ON_ALL = f"{RMSE} * (1.5 if len(answers) == 300 else 1)\n".replace(")\n *", ") *")


def find(
    tmp_path: Path, grader: str, rows: Sequence[tuple[str, float]] = ROWS, max_rows: int = 100
) -> tuple[str, Sequence[str]]:
    """Return the metric's name and the notes."""
    (tmp_path / "grade.py").write_text(grader)
    write_table(tmp_path / "whole.csv", ("extra", "y", "id"), [(1, cell, name) for name, cell in reversed(rows)])
    write_table(tmp_path / "answers.csv", ("id", "y"), rows)
    write_table(tmp_path / "sample.csv", ("id", "y"), [(name, 0) for name, _ in rows])
    question = MetricQuestion(
        slug="many-rows",
        grader=tmp_path / "grade.py",
        answers=tmp_path / "whole.csv",
        truth=tmp_path / "answers.csv",
        sample=tmp_path / "sample.csv",
        key=("id",),
        board_lower_is_better=True,
    )
    found = find_metric(question, max_rows)
    return found.name, found.notes


def test_of_many_rows_some_are_enough_and_all_confirm(tmp_path: Path) -> None:
    name, notes = find(tmp_path, RMSE)
    assert name == "rmse"
    assert "compared on 100 of 300 rows, and on 4 submissions with all rows" in notes


def test_a_grader_that_wants_all_rows_gets_them(tmp_path: Path) -> None:
    name, notes = find(tmp_path, WHOLE_ONLY)
    assert name == "rmse"
    assert not [note for note in notes if "of 300 rows" in note]


def test_a_metric_that_all_rows_do_not_confirm_is_not_taken(tmp_path: Path) -> None:
    name, notes = find(tmp_path, OTHER_ON_ALL)
    assert name == "grade.py"
    assert any("rmse agreed on these rows, but not on all rows" in note for note in notes)


def test_a_module_that_is_not_to_be_had_is_named(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match="no_such_module"):
        find(tmp_path, f"import no_such_module\n{RMSE}")
