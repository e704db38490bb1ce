"""`bot logs`: what happened, for people and for programs, and what happens from now on."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bot.cli import app
from state.clock import SystemClock
from state.errors import UsageError
from state.progress import create_node
from state.steering import add_note
from state.store import Store
from tests.state.rows import create_run

RUN = "titanic-comind-1"


@pytest.fixture(autouse=True)
def store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Store:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bot.toml").write_text('[daemon]\ndir = "state"\n[competitions.titanic]\n', encoding="utf-8")
    with Store.open(tmp_path / "state" / "bot.db", SystemClock()) as store:
        with store.write() as tx:
            create_run(tx, RUN, competition="titanic", agent="comind", model="builtin", seed=1, cutoff=None)
            create_node(tx, RUN, action="draft", id=1)
            tx.record("step.started", run_id=RUN, name="x")
            tx.record("worker.crashed", run_id=RUN, node=1, traceback="Traceback\nValueError: \x1b[2Jwrong")
        return store


def logs(*arguments: str) -> Result:
    done = CliRunner().invoke(app, ["logs", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


def test_events_are_lines_for_people_and_it_is_said_where_the_log_is() -> None:
    done = logs()
    shown = [line[20:] for line in done.stdout.splitlines()]
    assert shown == [
        f"  {'titanic':30} run {RUN} started with comind and builtin",
        f"  {'titanic node 1':30} node 1: draft",
        f"! {'titanic node 1':30} a worker failed: ValueError: [2Jwrong",
    ]
    assert "journalctl -u kaggle-bot" in done.stderr
    assert "step.started" in logs("--all").stdout


def test_programs_get_one_object_an_event_and_quiet_ones_too() -> None:
    lines = [json.loads(line) for line in logs("titanic", "--json").stdout.splitlines()]
    assert [line["type"] for line in lines] == ["run.created", "node.created", "step.started", "worker.crashed"]
    assert {line["competition"] for line in lines} == {"titanic"}


def test_how_many_and_how_far_back_may_be_said() -> None:
    assert len(logs("-n", "1").stdout.splitlines()) == 1
    assert len(logs("--since", "1h", "-n", "1").stdout.splitlines()) == 3
    assert logs("--since", "0s").stdout == ""
    with pytest.raises(UsageError, match="yesterday is not a duration such as"):
        logs("--since", "yesterday")


@pytest.mark.integration  # it starts the command, which takes seconds
def test_who_follows_sees_what_another_process_writes_until_he_stops(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bot", "logs", "--follow", "--json", "-n", "1"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as following:
        given_up = threading.Timer(60.0, following.kill)
        given_up.start()
        try:
            assert json.loads(following.stdout.readline())["type"] == "worker.crashed"
            with Store.open(tmp_path / "state" / "bot.db", SystemClock()) as store, store.write() as tx:
                add_note(tx, "titanic", "look")
            assert json.loads(following.stdout.readline())["type"] == "note.added"
        finally:
            following.send_signal(signal.SIGINT)
        _, errors = following.communicate()
        given_up.cancel()
    assert (following.returncode, errors) == (0, "")


def test_without_a_database_it_shows_where_one_would_be(tmp_path: Path) -> None:
    (tmp_path / "state" / "bot.db").unlink()
    with pytest.raises(UsageError, match=r"database not found: .*bot\.db"):
        logs()
