"""Scores that scripts print: which line counts, and what is none."""

from pathlib import Path

import pytest

from bot.evaluation.answers.findings import printed_score, reason_in, write_reason


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
