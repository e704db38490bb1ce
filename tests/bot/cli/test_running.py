"""What is printed of replays that have ended."""

from pathlib import Path

import pytest
import typer

from bot.cli.running import report
from bot.replay.several import Outcome
from bot.report.result import RunResult
from tests.bot.report.test_words import BASE, DOUBT


def printed(capsys: pytest.CaptureFixture[str], **changes: object) -> str:
    outcome = Outcome(Path("runs/a"), "a", RunResult.model_validate(BASE | {"gold_medal": True} | changes))
    with pytest.raises(typer.Exit):
        report([outcome], json=False)
    return capsys.readouterr().out


def test_the_submission_and_the_report_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys).splitlines()
    assert lines[-2:] == ["submission: runs/a/submission.csv", "report: runs/a/report.html"]
    assert any("gold" in line and "100.0%" in line for line in lines)


def test_no_submission_is_named_where_there_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert "submission.csv" not in printed(capsys, submission_exists=False, valid_submission=False, score=None)


def test_own_data_has_no_table_of_medals_and_says_where_a_baseline_was_not_beaten(capsys) -> None:
    text = printed(capsys, own_data=True, n_teams=0, score=None, validation_score=0.25, baseline_handed_in=True)
    assert text.startswith("The validation score is 0.25, on rows that its scripts did not see.\nexpected on new rows")
    assert "medal" not in text and "predictions: runs/a/submission.csv" in text and "more --time" in text


@pytest.mark.parametrize(
    ("blind", "interval", "first"),
    [(0.4, (0.2, 0.3), "The validation score is 0.25"), (0.29, (0.2, 0.3), "Not better"), (0.2, None, "Not better")],
)
def test_a_result_that_a_constant_reaches_says_so_first(capsys, blind, interval, first) -> None:
    scores = {"score": None, "validation_score": 0.25, "blind_score": blind, "validation_interval": interval}
    assert printed(capsys, own_data=True, n_teams=0, **scores).startswith(first)


@pytest.mark.parametrize(("changes", "word"), [({"guards": [DOUBT]}, "doubted"), ({"n_teams": 1}, "one team")])
def test_a_medal_that_may_not_be_spoken_of_is_not_printed(capsys, changes, word) -> None:
    row = next(line for line in printed(capsys, **changes).splitlines() if "wine" in line)
    assert word in row and "│ gold" not in row
