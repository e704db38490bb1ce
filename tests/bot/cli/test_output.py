"""What is printed for people: tables, progress, replays that have ended, and what to do first."""

import os
import pty
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import typer

from bot.cli import output
from bot.cli.output import print_table
from bot.cli.run import tell_of_missing_key
from bot.cli.running import report
from bot.replay.run_queue import RunOutcome
from bot.report.result import RunResult
from tests.bot.report.test_words import BASE, DOUBT

COLUMNS = ("run", "status", "nodes\nso far", "note")

ROW = ("spooky_author_identification-comind-builtin-0-20261120T101500000000Z", "finished", "12", "all is well here")


def test_a_table_that_fits_is_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(COLUMNS, [ROW], width=140)
    shown = capsys.readouterr().out
    assert ROW[0] in shown and "│" in shown


@pytest.mark.parametrize("width", [80, 40])
def test_one_that_does_not_fit_has_a_line_for_each_cell(capsys: pytest.CaptureFixture[str], width: int) -> None:
    print_table(COLUMNS, [ROW, ("b", "failed", "", "")], title="runs", width=width)
    shown = capsys.readouterr().out
    assert "│" not in shown
    assert all(len(line) <= width for line in shown.splitlines())
    assert "  nodes so far: 12\n" in shown
    assert shown.rstrip().endswith("run b\n  status: failed"), "an empty cell has no line"


def test_a_pipe_has_a_plain_line_and_no_more_of_them_than_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with output.progress_line(3600.0) as say:
        for number in range(5):
            say(f"{number} of 5", number / 5)
    assert capsys.readouterr().err == "0 of 5\n"


def printed(capsys: pytest.CaptureFixture[str], **changes: object) -> str:
    outcome = RunOutcome(Path("runs/a"), "a", RunResult.model_validate(BASE | {"gold_medal": True} | changes))
    with pytest.raises(typer.Exit):
        report([outcome], json=False)
    return capsys.readouterr().out


def test_the_submission_and_the_report_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys).splitlines()
    assert lines[-2:] == ["submission: runs/a/submission.csv", "report: runs/a/report.html"]
    assert any("gold" in line and "100.0%" in line for line in lines)


def test_no_submission_is_named_where_there_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert "submission.csv" not in printed(capsys, submission_exists=False, valid_submission=False, score=None)


def test_own_data_has_no_table_of_medals(capsys) -> None:
    text = printed(capsys, own_data=True, n_teams=0, score=None, validation_score=0.25, baseline_submitted=True)
    assert text.startswith(
        "The hold-out score is 0.25, measured on rows withheld from the scripts.\nexpected score on new rows"
    )
    assert "medal" not in text and "predictions: runs/a/submission.csv" in text


@pytest.mark.parametrize(
    ("chosen", "gain", "first"),
    [
        (5, 0.1, "The hold-out score is 0.25"),
        (5, 0.03, "The result does not beat a constant by more than noise."),
        (2, 0.0, "Nothing beat the simple models by more than noise: the result is a constant."),
    ],
)
def test_a_result_that_a_simple_model_reaches_says_so_first(capsys, chosen, gain, first) -> None:
    model = {"name": "a constant", "node": 2, "validation": 0.29, "gain": gain, "gain_error": 0.02}
    scores = {"score": None, "validation_score": 0.25, "simple_models": [model], "chosen_node": chosen}
    text = printed(capsys, own_data=True, n_teams=0, **scores)
    assert text.startswith(first) and "Hold-out scores: result 0.25; a constant 0.29." in text


@pytest.mark.parametrize(("changes", "word"), [({"guards": [DOUBT]}, "not counted"), ({"n_teams": 1}, "one team")])
def test_a_medal_that_may_not_be_spoken_of_is_not_printed(capsys, changes, word) -> None:
    row = next(line for line in printed(capsys, **changes).splitlines() if "wine" in line)
    assert word in row and "│ gold" not in row


END = "[end]"


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[], str]]:
    """Return a function that returns what a terminal is told."""
    for name in ("KAGGLE_API_TOKEN", "KAGGLE_KEY", "CREDENTIALS_DIRECTORY", "KAGGLE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    ours, theirs = pty.openpty()

    def tell() -> str:
        with open(theirs, "w", closefd=False) as terminal:
            tell_of_missing_key(terminal)
            terminal.write(END)
        said = ""
        while not said.endswith(END):  # a terminal hands over what it has, which may be a part
            said += os.read(ours, 4096).decode()
        return said.removesuffix(END)

    yield tell
    os.close(ours)
    os.close(theirs)


def test_without_a_key_a_terminal_is_told_what_to_do(told: Callable[[], str], monkeypatch: pytest.MonkeyPatch) -> None:
    text = " ".join(told().split())
    assert "No Kaggle key" in text and "`bot keys set KAGGLE_API_TOKEN` in another shell" in text
    monkeypatch.setenv("KAGGLE_API_TOKEN", "a-token")
    assert told() == ""
