"""Graders of their owner: what is seen of one without running it."""

import os
from pathlib import Path

import pytest

from bot.execution.own_grader import check_grader
from state.errors import UsageError

PLAIN = "def grade(submission, answers):\n    return 0.0\n"


def indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        "grade = lambda submission, answers: 0.0\n",
        "from mine import mean as grade\n",
        "from mine import *\n",
        f"import sys\nif sys.version_info > (3, 8):\n{indented(PLAIN)}",
        f"if False:\n    pass\nelse:\n{indented(PLAIN)}",
        f"try:\n    import numpy\nexcept ImportError:\n{indented(PLAIN)}",
        f"try:\n    import numpy\nfinally:\n{indented(PLAIN)}",
        f"import warnings\nwith warnings.catch_warnings():\n{indented(PLAIN)}",
        "try:\n    from mine import grade\nexcept ImportError:\n    from yours import grade\n",
        "if True:\n    grade = print\n",
    ],
)
def test_a_grade_at_module_level_is_seen_wherever_it_stands(tmp_path: Path, text: str) -> None:
    (tmp_path / "grade.py").write_text(text)
    check_grader(tmp_path / "grade.py")


@pytest.mark.parametrize(
    "text",
    [
        "def score(submission, answers):\n    return 0.0\n",
        f"class Grader:\n{indented(PLAIN)}",
        f"def outer():\n{indented(PLAIN)}",
        "class Grader:\n    def f(self):\n        grade = 1\n",
        f"if True:\n    def outer():\n{indented(indented(PLAIN))}",
        "",
    ],
)
def test_a_grade_that_no_importer_has_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "grade.py").write_text(text)
    with pytest.raises(UsageError, match="does not define a function grade"):
        check_grader(tmp_path / "grade.py")


def test_a_grade_that_has_to_be_awaited_is_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "grade.py").write_text(f"async {PLAIN}")
    with pytest.raises(UsageError, match="make it a regular function"):
        check_grader(tmp_path / "grade.py")


@pytest.mark.parametrize("folder", [".", "nowhere"])
def test_a_grader_that_is_not_there_is_told_as_such(tmp_path: Path, folder: str) -> None:
    with pytest.raises(UsageError, match="no such file"):
        check_grader(tmp_path / folder / "grade.py")


def test_a_folder_that_is_no_folder_is_told_as_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "graders").write_text("")
    with pytest.raises(UsageError, match="graders: Not a directory"):
        check_grader(tmp_path / "graders" / "grade.py")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_read_is_told_as_what_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "graders"
    folder.mkdir()
    (folder / "grade.py").write_text(PLAIN)
    folder.chmod(0o300)
    try:
        with pytest.raises(UsageError, match="graders: Permission denied"):
            check_grader(folder / "grade.py")
    finally:
        folder.chmod(0o700)
