"""A coder that is chosen by name: what is refused before anything starts."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot.cli import app, main
from tests.tiny_snapshot import write_tiny


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--model", "builtin", "--coder", "codex"],
            "coder codex works in labs, which require a language model and a sandbox: the built-in model cannot work in labs",
        ),
        (
            ["--model", "openai:m", "--sandbox", "process", "--coder", "codex"],
            "a language model and a sandbox: use --sandbox bubblewrap or docker",
        ),
    ],
)
def test_replay_refuses_a_coder_that_cannot_work(options, said, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    snapshot = write_tiny(tmp_path / "tiny")
    monkeypatch.setattr("sys.argv", ["bot", "replay", str(snapshot), *options])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_check_refuses_a_name_that_bot_toml_does_not_have(tmp_path: Path) -> None:
    (tmp_path / "bot.toml").write_text('[coders.codex]\nfolder = "nowhere"\n')
    options = ["coder", "check", "codx", "--config", str(tmp_path / "bot.toml")]
    refused = CliRunner().invoke(app, options)
    assert "did you mean codex" in str(refused.exception)
