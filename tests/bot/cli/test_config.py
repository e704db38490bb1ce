"""`bot config`, and how every command reports a wrong file."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from bot.cli import app, main
from bot.cli.configuration import configured, settings_file
from bot.configuration import Settings
from state.errors import ConfigurationError

WRONG = "[disk]\nfree_bg = 1\n\n[weights]\noffer = 3\n"


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty folder, and no key."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "CREDENTIALS_DIRECTORY", "OTHER_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def config(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["config", *arguments], catch_exceptions=False)


def as_json(*arguments: str) -> dict[str, Any]:
    return json.loads(config(*arguments, "--json").stdout)


def test_the_file_is_the_one_that_is_given_else_that_of_the_folder(here: Path) -> None:
    assert settings_file(None) is None
    assert configured(None) == Settings()
    (here / "bot.toml").write_text("[disk]\nfree_gb = 1\n")
    assert settings_file(None) == here / "bot.toml"
    assert settings_file(Path("other.toml")) == here / "other.toml"
    assert configured(settings_file(None)).disk.free_gb == 1.0


def test_every_mistake_is_a_line_on_stderr_and_the_exit_status_is_2(here, monkeypatch, capsys) -> None:
    (here / "bot.toml").write_text(WRONG)
    monkeypatch.setattr(sys, "argv", ["bot", "config", "check"])
    with pytest.raises(SystemExit) as ended:
        main()
    shown = capsys.readouterr()
    assert (ended.value.code, shown.out) == (2, "")
    assert shown.err.splitlines() == [
        f"{here}/bot.toml:2: unknown key 'free_bg' in [disk]; did you mean 'free_gb'?",
        f"{here}/bot.toml:5: weights.offer must be true or false, not 3 (whether runs may use these weights)",
    ]


def test_mistakes_are_reported_to_programs_as_well(here: Path) -> None:
    (here / "own.toml").write_text(WRONG)
    done = config("check", "own.toml", "--json")
    found = json.loads(done.stdout)
    assert (done.exit_code, found["ok"]) == (2, False)
    assert found["problems"][0] == {
        "file": str(here / "own.toml"),
        "line": 2,
        "message": "unknown key 'free_bg' in [disk]; did you mean 'free_gb'?",
        "kind": "unknown",
        "key": "disk.free_bg",
    }


@pytest.mark.parametrize(
    "command", [["prune", "."], ["weights", "list"], ["replay", ".", "--model", "builtin"], ["config", "show"]]
)
def test_every_command_that_reads_the_file_reports_the_same(here: Path, command: list[str]) -> None:
    (here / "bot.toml").write_text(WRONG)
    with pytest.raises(ConfigurationError) as error:
        CliRunner().invoke(app, command, catch_exceptions=False)
    with pytest.raises(ConfigurationError) as checked:
        config("check")
    assert error.value.problems == checked.value.problems
    assert len(checked.value.problems) == 2


def test_what_is_configured_is_summed_up_without_keys(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "bot.toml").write_text(
        '[models]\nmodel = "large"\n[[models.fallback]]\nmodel = "small"\nkey = "OTHER_API_KEY"\n'
        '[competitions.spooky]\nsubmit = true\napprove = "ask"\n[competitions.titanic]\n[run]\nsteps = 4\n'
    )
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-4242")
    done = config("check")
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        f"{here}/bot.toml: valid; it sets 6 keys",
        "  run.steps = 4",
        '  models.model = "large"',
        '  models.fallback.1.key = "OTHER_API_KEY"',
        '  models.fallback.1.model = "small"',
        "  competitions.spooky.submit = true",
        '  competitions.spooky.approve = "ask"',
        "OPENAI_API_KEY: set (not shown)",
        "OTHER_API_KEY: not set",
        "spooky: files will be sent to Kaggle when approved",
        "titanic: files will not be sent to Kaggle",
    ]
    found = as_json("check")
    assert found["keys"] == {"OPENAI_API_KEY": True, "OTHER_API_KEY": False}
    assert found["competitions"]["titanic"] == {"submit": False, "approve": "auto"}
    assert "4242" not in done.stdout + json.dumps(found)


def test_without_a_file_there_is_nothing_wrong() -> None:
    done = config("check")
    assert (done.exit_code, done.stdout.startswith("no bot.toml here: all settings are at their defaults")) == (0, True)
    assert as_json("check")["ok"] is True


def test_what_holds_is_shown_with_where_it_comes_from(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "bot.toml").write_text(
        '[disk]\nkeep_days = inf\n[run]\nlab.turns = 9\n[competitions.one]\n[models]\nmodel = "large"\nroles = { coder = "x" }\n'
    )
    monkeypatch.setenv("OPENAI_MODEL", "gpt-x")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://me:hunter22@h.example/v1")
    found = {one["key"]: (one["value"], one["source"]) for one in as_json("show")["settings"]}
    assert found["disk.keep_days"] == ("inf", f"{here}/bot.toml:2")
    assert found["disk.free_gb"] == (2.0, "default")
    assert found["models.model"] == ("gpt-x", "OPENAI_MODEL")
    assert found["models.base_url"] == ("[a secret]", "OPENAI_BASE_URL")
    assert found["models.roles"] == ({"coder": "x"}, f"{here}/bot.toml:8")
    assert found["competitions.one.lab.turns"] == (9, f"{here}/bot.toml:4")
    assert found["weights.dir"] == (None, "default")
    assert "free_gb" in config("show").stdout


def test_the_example_is_a_file_to_begin_with(here: Path) -> None:
    done = config("example")
    (here / "bot.toml").write_text(done.stdout)
    assert as_json("check")["given"] == {}
