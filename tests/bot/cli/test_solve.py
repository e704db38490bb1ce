"""`bot solve` where it asks: one sentence, before anything runs."""

from pathlib import Path

from typer.testing import CliRunner

from bot.cli import app
from state.errors import UsageError


def test_a_question_is_one_sentence_and_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/train.csv").write_text("a,b\n1,2\n")
    out = tmp_path / "runs"
    done = CliRunner().invoke(app, ["solve", str(tmp_path / "data"), "--out", str(out), "--sandbox", "process"])
    assert isinstance(done.exception, UsageError)
    assert (
        str(done.exception)
        == "which column of train.csv is the target: pass --target COLUMN, such as --target b (a, b)"
    )
    assert list(out.iterdir()) == []
