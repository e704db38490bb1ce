"""Scores that scripts print: which line counts, and what is none; and how two numbers are written."""

from pathlib import Path

import pytest

from bot.evaluation.answers.findings import distinct_figures, printed_score, reason_in, write_reason


@pytest.mark.parametrize(
    ("output", "score"),
    [
        ("validation score: 0.123\n", 0.123),
        ("fold 1\nvalidation score: 1\nvalidation score: -2.5e-3\ndone\n", -0.0025),
        ("validation score: .5\r\n", 0.5),
        ("validation score:7\n", 7.0),
    ],
)
def test_the_last_such_line_counts(output: str, score: float) -> None:
    assert printed_score(output) == score


@pytest.mark.parametrize(
    "output",
    [
        "",
        "validation score: nan\n",
        "validation score: inf\n",
        "validation score: 1e999\n",
        "my validation score: 0.1\n",
        "validation score: 0.1 (5 folds)\n",
        "validation score: 0,1\n",
        "Validation score: 0.1\n",
    ],
)
def test_anything_else_is_none(output: str) -> None:
    assert printed_score(output) is None


def test_the_reason_is_kept_where_labels_would_be(tmp_path: Path) -> None:
    assert reason_in(tmp_path / "holdout") is None
    write_reason(tmp_path / "holdout", "There is no train.csv.")
    assert reason_in(tmp_path / "holdout") == "There is no train.csv."


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (0.13921, 0.13874, ("0.1392", "0.1387")),
        (0.2, 0.1, ("0.2", "0.1")),
        (0.1, 0.1, ("0.1", "0.1")),
        (1.0, 1.0 + 2**-52, ("1", "1.0000000000000002")),
        (float("nan"), 0.25, ("nan", "0.25")),
    ],
)
def test_numbers_have_as_many_digits_as_they_need_to_differ(first, second, words) -> None:
    assert distinct_figures(first, second, 3) == words
