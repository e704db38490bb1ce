"""`bot keys`: a key is kept where the bot reads it, is never shown, and one that nothing reads is refused."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot.cli.app import app
from bot.models.settings import Environment
from scrapers.kaggle.credentials import find_credentials
from state.errors import UsageError
from state.own_keys import use_own_keys

NAMES = ("KAGGLE_API_TOKEN", "OPENAI_API_KEY", "SLACK_URL", "KAGGLE_USERNAME", "KAGGLE_KEY", "CREDENTIALS_DIRECTORY")
KEY = "sk-Zm3kd8Wq11xTT"


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def kept(name: str, key: str) -> str:
    result = CliRunner().invoke(app, ["keys", "set", name], input=key, catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def sources() -> dict[str, str | None]:
    found: dict[str, str | None] = json.loads(CliRunner().invoke(app, ["keys", "list", "--json"]).stdout)["keys"]
    return found


def test_each_key_goes_where_the_bot_reads_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sources() == {"KAGGLE_API_TOKEN": None, "OPENAI_API_KEY": None}
    assert str(home / ".kaggle" / "access_token") in kept("KAGGLE_API_TOKEN", "KGAT_abcdef\n")
    assert find_credentials().secret == "KGAT_abcdef"
    output = kept("OPENAI_API_KEY", KEY)
    assert KEY not in output
    variables = dict(os.environ)
    use_own_keys(variables)  # as the command line does at its start
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", variables["CREDENTIALS_DIRECTORY"])
    read = Environment.read().openai_api_key
    assert read.get_secret_value() == KEY
    assert sources() == {
        "KAGGLE_API_TOKEN": "~/.kaggle/access_token",
        "OPENAI_API_KEY": str(home / "config" / "kaggle-bot" / "credentials" / "OPENAI_API_KEY"),
    }


def test_a_variable_goes_before_a_model_s_kept_key(monkeypatch: pytest.MonkeyPatch) -> None:
    kept("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-another-Key99")
    assert sources()["OPENAI_API_KEY"] == "the variable OPENAI_API_KEY"


def test_names_that_bot_toml_gives_can_be_kept_and_no_others(home: Path) -> None:
    Path("bot.toml").write_text('[notify]\nservices = ["SLACK_URL"]\n')
    kept("SLACK_URL", "https://hooks.slack.com/services/T0/B0/abc123def456")
    for name, meant in (("OPENAI_KEY", "OPENAI_API_KEY"), ("SLACK_ULR", "SLACK_URL")):
        result = CliRunner().invoke(app, ["keys", "set", name], input=KEY)
        assert isinstance(result.exception, UsageError)
        assert f"did you mean {meant}?" in str(result.exception)
    assert [one.name for one in (home / "config" / "kaggle-bot" / "credentials").iterdir()] == ["SLACK_URL"]


@pytest.mark.parametrize("key", ["", " \n", "two\nlines", "sch\u00f6n"])
def test_what_is_no_key_is_not_kept(key: str, home: Path) -> None:
    result = CliRunner().invoke(app, ["keys", "set", "OPENAI_API_KEY"], input=key)
    assert isinstance(result.exception, UsageError)
    assert not (home / "config").exists()


def test_the_command_line_reads_what_was_kept() -> None:
    """The program itself, from its start: `bot config check` says that the key is set."""
    kept("OPENAI_API_KEY", KEY)
    found = subprocess.run(
        [sys.executable, "-m", "bot", "config", "check"], capture_output=True, text=True, timeout=60, check=True
    )
    assert "OPENAI_API_KEY: set (not shown)" in found.stdout
    assert KEY not in found.stdout
