from pathlib import Path

from bot.evaluation.graders.marking import is_model_written, mark, record_of


def test_a_marked_grader_is_known_and_gives_its_record(tmp_path: Path) -> None:
    grader = tmp_path / "grade.py"
    grader.write_text(mark("\n\nx = 1\n", {"model": "m", "passed": ["a"]}))
    assert is_model_written(grader)
    assert record_of(grader) == {"model": "m", "passed": ["a"]}
    assert grader.read_text().endswith("\nx = 1\n")
    compile(grader.read_text(), "grade.py", "exec")


def test_a_marked_grader_that_was_changed_stays_marked_but_has_no_record(tmp_path: Path) -> None:
    grader = tmp_path / "grade.py"
    grader.write_text(mark("x = 1\n", {"model": "m"}) + "x = 2\n")
    assert is_model_written(grader)
    assert record_of(grader) is None


def test_a_competitions_own_grader_is_not_marked(tmp_path: Path) -> None:
    grader = tmp_path / "grade.py"
    grader.write_text("x = 1\n")
    assert not is_model_written(grader)
    assert record_of(grader) is None
    assert not is_model_written(tmp_path / "none.py")
