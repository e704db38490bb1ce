"""`bot status` while a daemon runs: its answer is shown, word for word what the command reads itself where there is none."""

import json
import re
import socket
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bot.cli import app
from bot.cli.status_daemon import look
from bot.daemon.answering import answering
from bot.status import presence
from bot.status.asking import LOCK, SOCKET, Question, address, ask
from sandbox.locks import take
from state.clock import FastClock
from state.errors import BotError
from state.store import Store
from tests.bot.cli import test_start, test_status_daemon
from tests.bot.status import parts
from tests.bot.status.parts import NOMAD, NOW, SPOOKY

STANDING = 1e-9
"""A clock's speed with which what is shown of the time is the same for as long as a test takes."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("bot.toml").write_text(test_status_daemon.TOML, encoding="utf-8")
    return tmp_path


@pytest.fixture
def store(here: Path) -> Iterator[Store]:
    """The database of a daemon that runs."""
    parts.busy(here / "state")
    lock = take(here / "state" / LOCK)
    with Store.open(here / "state" / "bot.db", FastClock(NOW, STANDING)) as store:
        with store.write() as tx:
            presence.began(tx, 1)
        yield store
    lock.release()


@pytest.fixture
def looks() -> list[Question]:
    """What the daemon was asked."""
    return []


@pytest.fixture
def counted(looks: list[Question]) -> Callable[[Store, Question], dict[str, Any]]:
    def counted(store: Store, question: Question) -> dict[str, Any]:
        looks.append(question)
        return look(store, question)

    return counted


def _unchanging(shown: str) -> str:
    return re.sub(r"has [\d.]+ GB free", "has some GB free", shown)


def status(*arguments: str) -> str:
    """Return what is printed, or the error that says what is wrong; what is free on the disk changes."""
    try:
        shown = CliRunner().invoke(app, ["status", *arguments], catch_exceptions=False).stdout
    except BotError as error:
        return f"{type(error).__name__}: {error}"
    if "--json" not in arguments:
        return _unchanging(shown)
    found = json.loads(shown)
    assert found["daemon"].pop("free_bytes") > 0
    return json.dumps(found)


@pytest.mark.integration
@pytest.mark.parametrize("arguments", [(), ("--json",), (SPOOKY,), (NOMAD, "--json"), ("--config", "bot.toml")])
def test_what_the_daemon_answers_is_what_its_database_says(store, looks, counted, arguments) -> None:
    read = status(*arguments)
    assert SPOOKY in read or NOMAD in read
    with answering(store, counted):
        assert status(*arguments) == read
        assert len(looks) == 1
    assert status(*arguments) == read
    assert len(looks) == 1


def test_the_configuration_holds_as_it_is_now(store: Store, counted: Any, looks: list[Question]) -> None:
    with answering(store, counted):
        before = status()
        with Path("bot.toml").open("a") as file:
            file.write("[competitions.titanic]\n")
        assert "titanic" in (after := status())
        assert "titanic" not in before
        assert len(looks) == 2
    assert status() == after


@pytest.mark.parametrize(
    ("given", "arguments", "told"),
    [
        ("", ("titanic",), "titanic is neither a folder nor a competition"),
        ("[daemn]\n", (), "did you mean daemon"),
        ("[competitions.titanic\n", (), "no TOML"),
        ("[models]\nmodel = 5\n", (), "must be text"),
    ],
)
def test_what_is_wrong_is_said_in_the_same_words(store, given, arguments, told) -> None:
    with Path("bot.toml").open("a") as file:
        file.write(given)
    read = status(*arguments)
    assert told in read
    with answering(store, look):
        assert status(*arguments) == read


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("daemon = 5", "must be a table"),
        ("[daemon]\ndir = 5", "must be text"),
        ("[daemon]\ndir = '~nobody-here/x'", "no folder of ~nobody-here is known here"),
        ('[daemon]\ndir = "a\\u0000"', "null"),
    ],
)
def test_a_folder_that_is_none_is_refused(here: Path, given: str, told: str) -> None:
    Path("bot.toml").write_text(given, encoding="utf-8")
    assert told in status()


def test_the_folders_path_may_be_longer_than_an_address(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 30)
    parts.busy(folder)
    with Store.open(folder / "bot.db", FastClock(NOW, STANDING)) as store, answering(store, look):
        assert stat.S_IMODE((folder / SOCKET).stat().st_mode) == 0o600
        answer = ask(folder, Question(None, json=True))
        assert answer["daemon"]["folder"] == str(folder)
    assert not (folder / SOCKET).exists()


def test_by_another_path_to_its_folder_a_daemon_does_not_answer(store, here, looks, counted) -> None:
    (here / "link").symlink_to("state")
    Path("bot.toml").write_text(f'[daemon]\ndir = "{here}/link"\n', encoding="utf-8")
    with answering(store, counted):
        assert json.loads(status("--json"))["daemon"]["folder"] == str(here / "link")
    assert looks == []


def test_the_socket_of_a_daemon_that_was_killed_is_no_trouble(store: Store, here: Path) -> None:
    read = status()
    with socket.socket(socket.AF_UNIX) as killed, address(here / "state") as at:
        killed.bind(at)
    assert (here / "state" / SOCKET).is_socket()
    assert status() == read
    with answering(store, look):
        assert ask(here / "state", Question(None)) is not None


@pytest.mark.integration
def test_a_daemon_that_hangs_is_waited_for_two_seconds(store: Store, here: Path) -> None:
    read = status()
    with socket.socket(socket.AF_UNIX) as hangs, address(here / "state") as at:
        hangs.bind(at)
        hangs.listen()
        began = time.monotonic()
        assert status() == read
        assert 1.5 < time.monotonic() - began < 60


@pytest.mark.integration
def test_who_asks_nothing_or_nonsense_holds_nobody_up_for_long(store: Store, here: Path) -> None:
    with answering(store, look):
        for said in (b"", b"nonsense\n", b"[]\n", b'{"to": []}\n', b'{"to"'):
            with socket.socket(socket.AF_UNIX) as odd, address(here / "state") as at:
                odd.connect(at)
                odd.sendall(said)
                answer = ask(here / "state", Question(None)) if said else None
                assert answer is not None or not said
        assert ask(here / "state", Question(None)) is not None


def test_a_folder_that_takes_no_socket_is_no_trouble_for_the_daemon(store: Store, here: Path) -> None:
    (here / "state" / SOCKET).mkdir()
    with answering(store, look):
        assert ask(here / "state", Question(None)) is None


@pytest.mark.integration
def test_an_answer_is_shown_without_what_reads_a_database_or_the_settings(store: Store, here: Path) -> None:
    with answering(store, look):
        done, imported = test_start.bot(here, "status")
    assert done.returncode == 0, done.stderr
    assert _unchanging(done.stdout) == status()
    assert imported & (test_start.SLOW | test_start.DATABASE | {"sandbox", "scrapers"}) == set()
