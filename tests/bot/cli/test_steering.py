"""`bot note`, `pause`, `unpause` and `stop`: what is kept, who sees it, and what is refused in one sentence."""

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from bot.cli import app
from bot.status.presence import record_start
from sandbox.locks import try_lock
from state.clock import FastClock, SystemClock
from state.errors import UsageError
from state.steering import control, notes
from state.store import Store

TOML = '[daemon]\ndir = "state"\n\n[competitions.titanic]\n\n[competitions.spaceship-titanic]\n'


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("LOGNAME", "ada")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bot.toml").write_text(TOML, encoding="utf-8")
    return tmp_path


@pytest.fixture
def daemon(here: Path) -> Iterator[None]:
    """What others see of a daemon that runs."""
    (here / "state").mkdir()
    lock = try_lock(here / "state" / "daemon.lock")
    yield
    lock.release()


def bot(*arguments: str, stdin: str | None = None) -> Result:
    done = CliRunner().invoke(app, list(arguments), input=stdin, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


def printed(*arguments: str) -> dict[str, Any]:
    return json.loads(bot(*arguments, "--json").stdout)


def texts(here: Path, competition: str = "titanic") -> list[str]:
    with Store.open(here / "state" / "bot.db", SystemClock()) as store, store.read() as session:
        return [one.text for one in notes(session, competition, store.clock.now())]


def test_a_note_is_kept_before_there_is_a_daemon_and_the_answer_notes_that_none_runs(here: Path) -> None:
    done = bot("note", "titanic", "look", "at the tickets")
    assert done.stdout == "note 1 for titanic saved; it takes effect when the daemon starts\n"
    assert texts(here) == ["look at the tickets"]
    assert (here / "state").stat().st_mode & 0o777 == 0o700


@pytest.mark.usefixtures("daemon")
def test_the_answer_notes_that_a_running_daemon_will_see_it() -> None:
    assert "the daemon will see it within seconds" in bot("note", "titanic", "look").stdout
    assert printed("pause", "titanic")["daemon_running"] is True


def test_the_lock_of_a_daemon_that_has_ended_is_no_running_daemon(here: Path) -> None:
    (here / "state").mkdir()
    lock = try_lock(here / "state" / "daemon.lock")
    lock.release()
    assert printed("pause", "titanic")["daemon_running"] is False


def test_a_note_of_several_lines_comes_from_stdin(here: Path) -> None:
    bot("note", "titanic", "-", stdin="first\nsecond\n")
    assert texts(here) == ["first\nsecond"]


@pytest.mark.parametrize(
    ("secret", "what"),
    [
        ("KGAT_0123456789abcdef", "a Kaggle token"),
        ("0123456789abcdef0123456789abcdef", "a legacy Kaggle key"),
        ("sk-abcdefgh1jklmn0p", "a model's API key"),
        ("https://me:hunter2@example.org/x", "a URL with a password"),
    ],
)
def test_what_looks_like_a_secret_is_refused_and_not_repeated(here: Path, secret: str, what: str) -> None:
    with pytest.raises(UsageError, match=f"the note contains {what}, but notes become part of prompts") as refused:
        bot("note", "titanic", "try", secret, "there")
    assert secret not in str(refused.value)
    assert not (here / "state" / "bot.db").exists()


def test_what_is_too_long_for_a_note_is_refused_from_stdin_too() -> None:
    with pytest.raises(UsageError, match="the limit is 4000"):
        bot("note", "titanic", "-", stdin="x" * 1_000_000)


def test_notes_are_listed_oldest_first_for_people_and_for_programs() -> None:
    added = printed("note", "titanic", "one\ntwo")
    bot("note", "titanic", "three")
    assert (added["note"], added["text"], added["by"]) == (1, "one\ntwo", "ada")
    shown = bot("note", "--list", "titanic").stdout.splitlines()
    assert [line for line in shown if line.startswith("  ")] == ["  one", "  two", "  three"]
    assert shown[0].startswith("note 1, 2") and shown[0].endswith("UTC, ada:")
    lines = [json.loads(line) for line in bot("note", "--list", "titanic", "--json").stdout.splitlines()]
    assert [(line["note"], line["text"]) for line in lines] == [(1, "one\ntwo"), (2, "three")]
    assert lines[0]["at"] == added["at"]
    assert bot("note", "--list", "spaceship-titanic").stdout == "no notes for spaceship-titanic\n"


def test_a_competition_is_paused_goes_on_and_is_stopped(here: Path) -> None:
    assert bot("pause", "titanic").stdout.startswith("titanic is now paused (was running); ")
    assert bot("pause", "titanic").stdout.startswith("titanic is already paused; ")
    assert printed("unpause", "titanic") == {
        "competition": "titanic",
        "state": "running",
        "before": "paused",
        "changed": True,
        "database": str(here / "state" / "bot.db"),
        "daemon_running": False,
    }
    bot("stop", "titanic")
    with Store.open(here / "state" / "bot.db", SystemClock()) as store, store.read() as session:
        assert (control(session, "titanic"), control(session, "spaceship-titanic")) == ("stopped", "running")


@pytest.mark.parametrize("command", [["note", "titanik", "x"], ["pause", "titanik"], ["note", "--list", "titanik"]])
def test_a_competition_that_is_not_configured_is_refused_and_those_that_are_are_named(here, command) -> None:
    with pytest.raises(UsageError, match=r"titanik is not configured in .* did you mean titanic\?$"):
        bot(*command)
    assert not (here / "state").exists()


def test_in_a_rehearsal_a_note_has_the_time_of_the_daemons_clock(here: Path) -> None:
    clock = FastClock(datetime(2017, 10, 25, tzinfo=UTC), 1_000.0)
    with Store.open(here / "state" / "bot.db", clock) as store, store.write() as tx:
        record_start(tx, 1)
    at = datetime.fromisoformat(printed("note", "titanic", "look")["at"])
    assert timedelta(0) < clock.now() - at < timedelta(days=1)
    assert bot("note", "--list", "titanic").stdout.endswith("  look\n")


def test_no_database_is_made_in_another_users_folder(here: Path) -> None:
    theirs = Path("/usr")
    if os.geteuid() == 0:
        theirs = here / "theirs"
        theirs.mkdir()
        os.chown(theirs, 12_345, 12_345)
    (here / "bot.toml").write_text(f'[daemon]\ndir = "{theirs}"\n[competitions.titanic]\n', encoding="utf-8")
    with pytest.raises(UsageError, match="which belongs to another user"):
        bot("note", "titanic", "look")
    assert not (theirs / "bot.db").exists()


def test_without_a_configuration_it_asks_for_one(here: Path) -> None:
    (here / "bot.toml").rename(here / "other.toml")
    with pytest.raises(UsageError, match="pass the file with --config"):
        bot("pause", "titanic")
    assert bot("pause", "titanic", "--config", "other.toml").stdout.startswith("titanic is now paused")


def test_what_is_only_looked_at_makes_no_database(here: Path) -> None:
    with pytest.raises(UsageError, match=r"database not found: .*bot\.db"):
        bot("note", "--list", "titanic")
    assert not (here / "state").exists()


def test_an_empty_note_is_refused_and_so_is_a_text_beside_list() -> None:
    with pytest.raises(UsageError, match="the note is empty"):
        bot("note", "titanic")
    with pytest.raises(UsageError, match="takes no text"):
        bot("note", "--list", "titanic", "x")
