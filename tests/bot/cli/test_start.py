"""A command imports what it needs when it runs: the quick ones start without what they do not use."""

import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from bot.cli.app import all_commands
from tests.bot.status import parts

SLOW = {
    *("apprise", "bs4", "datasketch", "docker", "httpx2", "jinja2", "kaggle", "matplotlib"),
    *("nbformat", "numpy", "pandas", "psutil", "pynvml", "requests", "scipy", "sklearn", "starlette", "uvicorn"),
}
DATABASE = {"sqlalchemy", "sqlmodel"}
TOML = """
[daemon]
dir = "state"
[competitions.titanic]
submit = true
[notify]
digest = ["leaderboard.rank"]
"""
RUN = """
import sys
from bot.cli import main
try:
    main()
finally:
    print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""


def bot(folder: Path, *arguments: str) -> tuple[subprocess.CompletedProcess[str], set[str]]:
    """Run a command in a process of its own; returns what came of it, and which packages it imported."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parents[3]),
        "HOME": str(folder),
        "XDG_STATE_HOME": "",
    }
    command = [sys.executable, "-c", RUN, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)
    return done, set(done.stderr.splitlines()[-1].split())


def test_help_shows_every_command_and_imports_none(tmp_path: Path) -> None:
    done, imported = bot(tmp_path, "--help")
    assert done.returncode == 0
    assert {name for name in all_commands() if "." not in name} <= set(done.stdout.split())
    shown = " ".join(done.stdout.split())
    assert "replay Replay past competitions on a simulated clock, graded" in shown
    assert "notify Test your notification services." in shown
    assert imported & (SLOW | DATABASE | {"pydantic", "asyncio", "rich"}) == set()


@pytest.mark.integration
def test_each_command_shows_its_own_help_with_an_example(tmp_path: Path) -> None:
    done, _ = bot(tmp_path, "pause", "--help")
    assert done.returncode == 0
    assert "Example: bot pause" in done.stdout
    assert "--json" in done.stdout


def test_a_mistyped_command_is_wrong_use_and_the_nearest_one_is_named(tmp_path: Path) -> None:
    done, _ = bot(tmp_path, "stats")
    assert done.returncode == 2
    assert "Did you mean 'status'?" in done.stderr


def test_a_group_lists_its_commands_by_their_whole_first_paragraphs(tmp_path: Path) -> None:
    done, imported = bot(tmp_path, "config", "--help")
    assert "or sum up the configuration." in " ".join(done.stdout.split())
    assert "rich" not in imported


@pytest.mark.parametrize("given", ["", TOML])
def test_checking_a_configuration_needs_neither_the_parts_it_sets_nor_a_database(tmp_path: Path, given: str) -> None:
    (tmp_path / "bot.toml").write_text(given, encoding="utf-8")
    done, imported = bot(tmp_path, "config", "check")
    assert done.returncode == 0, done.stderr
    assert imported & (SLOW | DATABASE | {"rich"}) == set()


def test_status_without_a_database_says_so_without_loading_what_would_read_one(tmp_path: Path) -> None:
    done, imported = bot(tmp_path, "status")
    assert done.returncode == 2
    assert re.search(r"^bot: found neither the daemon's database \S+ nor a folder runs: pass ", done.stderr)
    assert imported & (SLOW | DATABASE) == set()


@pytest.mark.parametrize("command", ["replay", "solve", "resume", "bench", "rehearse"])
def test_a_path_that_is_not_there_is_told_before_anything_is_loaded(tmp_path: Path, command: str) -> None:
    done, imported = bot(tmp_path, command, "missing")
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "bot: missing: not found")
    assert imported & (SLOW | DATABASE | {"rich"}) == set()


def test_without_a_bot_toml_it_is_said_how_to_make_one(tmp_path: Path) -> None:
    done, imported = bot(tmp_path, "run")
    assert (done.returncode, done.stderr.splitlines()[0]) == (
        78,
        "bot: no bot.toml here: write one with `bot init`, or pass yours with --config",
    )
    assert imported & (SLOW | DATABASE) == set()


@pytest.mark.integration
def test_status_reads_a_database_with_little_more_than_what_reads_it(tmp_path: Path) -> None:
    (tmp_path / "bot.toml").write_text(TOML, encoding="utf-8")
    parts.busy(tmp_path / "state")
    done, imported = bot(tmp_path, "status")
    assert done.returncode == 0, done.stderr
    assert "stopped unexpectedly" in " ".join(done.stdout.split())
    assert imported & SLOW == set()


@pytest.mark.integration
def test_status_of_a_database_of_another_version_says_so(tmp_path: Path) -> None:
    (tmp_path / "bot.toml").write_text(TOML, encoding="utf-8")
    parts.busy(tmp_path / "state")
    with sqlite3.connect(tmp_path / "state" / "bot.db") as connection:
        connection.execute("PRAGMA user_version = 9999")
    connection.close()
    done, imported = bot(tmp_path, "status")
    assert done.returncode == 2
    assert "another version of this program" in done.stderr
    assert imported & SLOW == set()
