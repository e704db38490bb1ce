"""`bot env`: what it lists, and the sentences for what cannot be."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bot.cli import app
from state.errors import UsageError


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def env(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["env", *arguments], catch_exceptions=False)


def test_environments_lie_in_the_data_folder_or_where_the_file_says(tmp_path: Path) -> None:
    assert json.loads(env("list", "--json").stdout) == {
        "dir": str(tmp_path / "data" / "kaggle-bot" / "environments"),
        "environments": [],
        "incomplete": [],
    }
    Path("bot.toml").write_text(f'[sandbox]\nenvironments = "{tmp_path}/other"\n')
    (tmp_path / "other" / "begun").mkdir(parents=True)
    listed = json.loads(env("list", "--json").stdout)
    assert (listed["dir"], listed["incomplete"]) == (str(tmp_path / "other"), ["begun"])
    assert "bot env create begun" in " ".join(env("list").stdout.split())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["create", "--with", "text,sound"], r"--with: unknown group sound; use tabular, text, vision, audio or all"),
        (["create", "../x"], r"is not a valid environment name: use letters, digits, dots and dashes"),
        (["check"], r"environment default not found in .*: run `bot env create default`"),
        (["check", "mine"], r"environment mine not found in .*: run `bot env create mine`"),
        (["remove", "mine"], r"environment mine not found"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(arguments: list[str], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        env(*arguments)


def test_a_replay_with_an_environment_that_is_not_there_says_how_to_make_it() -> None:
    Path("bot.toml").write_text('[sandbox]\nenvironment = "vision"\n')
    with pytest.raises(UsageError, match="run `bot env create vision`"):
        CliRunner().invoke(app, ["replay", "."], catch_exceptions=False)
