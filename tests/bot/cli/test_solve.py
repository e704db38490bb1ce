"""`bot solve` where it asks: one sentence, before anything runs."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot.cli import app
from state.errors import UsageError


def test_a_question_is_one_sentence_and_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/train.csv").write_text("a,b\n1,2\n")
    out = tmp_path / "runs"
    done = CliRunner().invoke(app, ["solve", str(tmp_path / "data"), "--out", str(out), "--sandbox", "process"])
    assert isinstance(done.exception, UsageError)
    message = "cannot detect the target in train.csv: for example, pass --target b (candidates: a, b)"
    assert str(done.exception) == message
    assert list(out.iterdir()) == []


def test_less_time_than_a_search_takes_is_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["solve", str(tmp_path), "--time", "59s"])
    assert str(done.exception) == "a time limit of 59 s is too short: it must be at least 60 s"


@pytest.mark.integration  # several seconds of reading
def test_reading_large_data_shows_how_long_it_takes(tmp_path: Path) -> None:
    (tmp_path / "large.csv").write_text("a,b\n" + f"{'1' * 70},2\n" * 900_000)
    command = ["solve", str(tmp_path / "large.csv"), "--out", str(tmp_path / "runs"), "--sandbox", "process"]
    done = CliRunner().invoke(app, command)
    assert isinstance(done.exception, UsageError)
    assert "reading 66 MB: 1 s of about 20 s" in done.stderr
