"""`bot init`: the file that it writes holds every submission, is valid, and is of a competition that was entered."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot.cli.app import app
from bot.configuration import read_settings
from bot.configuration.example import FirstFile
from bot.simulator.site.serving import serving
from bot.simulator.site.settings import SiteSettings
from bot.simulator.site.site import Site
from scrapers.kaggle.settings import KAGGLE
from state.clock import FastClock
from state.errors import UsageError
from tests.bot.simulator.site.parts import START, TWIN, both, served, tiny
from tests.tiny_snapshot import SLUG


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "CREDENTIALS_DIRECTORY", "KAGGLE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KAGGLE_API_TOKEN", SiteSettings().token)
    monkeypatch.chdir(tmp_path)


def refused(*options: str) -> str:
    result = CliRunner().invoke(app, ["init", *options])
    assert isinstance(result.exception, UsageError)
    assert not Path("new.toml").exists()
    return str(result.exception)


def test_the_first_file_is_valid_and_holds_every_submission(tmp_path: Path) -> None:
    file = tmp_path / "bot.toml"
    file.write_text(FirstFile("wine", "gpt-5-mini", 5.0, "bubblewrap").text())
    settings = read_settings(file)
    own = settings.competitions["wine"]
    assert (own.submit, own.approve, own.model, own.max_cost_per_day) == (True, "ask", "gpt-5-mini", 5.0)
    assert (settings.run.sandbox, settings.daemon.rehearsal, settings.kaggle.url) == ("bubblewrap", False, KAGGLE)
    assert len(file.read_text().splitlines()) <= 13


def test_a_rehearsal_has_its_own_address_folder_and_clock(tmp_path: Path) -> None:
    file = tmp_path / "bot.toml"
    file.write_text(FirstFile("wine", "builtin", None, "auto", "http://127.0.0.1:8899/v1", Path("rehearsal")).text())
    settings = read_settings(file)
    assert (settings.daemon.rehearsal, settings.daemon.folder) == (True, tmp_path / "rehearsal")
    assert settings.kaggle.url == "http://127.0.0.1:8899/v1"
    assert settings.competitions["wine"].max_cost_per_day is None


@pytest.mark.integration
def test_what_cannot_be_is_refused_before_a_file_is_written(tmp_path: Path) -> None:
    new = ("--config", "new.toml")
    with served(both(tmp_path)) as site:
        url = ("--url", f"{site.client.url}/v1")
        assert f"{SLUG}, {TWIN}" in refused(*new, *url) or f"{TWIN}, {SLUG}" in refused(*new, *url)
        near = refused(f"{SLUG[:-1]}", *new, *url)
        assert f"did you mean {SLUG}?" in near
        assert f"{site.client.url}/competitions/{SLUG[:-1]}/rules" in near
        assert "set OPENAI_API_KEY" in refused(SLUG, *new, *url, "--model", "openai:x")
        assert "a recording cannot compete" in refused(SLUG, *new, *url, "--model", f"recorded:{tmp_path}")
        Path("bot.toml").write_text("")
        assert "bot.toml already exists" in refused(SLUG, *url)
    assert Path("bot.toml").read_text() == ""


def test_without_a_key_it_names_the_command_that_keeps_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KAGGLE_API_TOKEN")
    assert "`bot keys set KAGGLE_API_TOKEN`" in refused("--config", "new.toml")


def test_with_none_entered_it_says_so(tmp_path: Path) -> None:
    with served(tiny(tmp_path), SiteSettings(entered=False)) as site:
        assert "you have not entered any active competition: enter one on kaggle.com and accept its rules" in refused(
            "--config", "new.toml", "--url", f"{site.client.url}/v1"
        )


@pytest.mark.integration
def test_on_a_terminal_it_asks_which_and_ends_with_the_next_command(tmp_path: Path) -> None:
    with serving(Site(both(tmp_path), FastClock(START, 1.0))) as url:
        ours, theirs = pty.openpty()
        options = ["init", "--url", f"{url}/v1", "--model", "builtin", "--no-env", "--config", "new.toml"]
        with subprocess.Popen(
            [sys.executable, "-m", "bot", *options], stdin=theirs, stdout=subprocess.PIPE, text=True
        ) as bot:
            os.write(ours, b"7\n2\n")
            output, _ = bot.communicate(timeout=120)
        os.close(ours)
        os.close(theirs)
    assert bot.returncode == 0, output
    listed = [line.split()[-1] for line in output.splitlines() if line.strip()[:2] in ("1 ", "2 ")]
    assert set(listed) == {SLUG, TWIN}
    assert list(read_settings(Path("new.toml").resolve()).competitions) == [listed[1]]
    assert "entered, but you need to confirm the metric" in output
    assert "keys set" not in output, "a rehearsal needs no key"
    assert output.splitlines()[-2] == "next: bot run --config new.toml"
