"""The audit passes on an honest run and fails on each kind of tampering."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from bot.cli import app
from tests.bot.replay.conftest import Finished, comind_run, tiny
from tests.tiny_snapshot import LATE_WORDS

__all__ = ["comind_run", "tiny"]
pytestmark = pytest.mark.integration

Row = dict[str, Any]


@pytest.fixture
def run(comind_run: Finished, tmp_path: Path) -> Path:
    """Return a copy that may be tampered with."""
    return Path(shutil.copytree(comind_run.folder, tmp_path / "run"))


def audit(run: Path) -> Result:
    return CliRunner().invoke(app, ["audit", str(run)], catch_exceptions=False)


def tamper(run: Path, change: Callable[[Row], None], which: Callable[[Row], bool] = lambda row: True) -> None:
    """Change the first fitting prompt in the file."""
    path = run / "prompts.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    change(next(row for row in rows if which(row)))
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def with_items(row: Row) -> bool:
    return bool(row["items"])


@pytest.mark.integration
def test_an_honest_run_passes(run: Path):
    done = audit(run)
    assert done.exit_code == 0
    assert "passed" in done.stdout


def test_words_of_a_later_post_are_found_even_where_the_database_was_changed_too(run: Path):
    def insert(row: Row) -> None:
        row["messages"][-1]["content"] += f"\n{LATE_WORDS}\n"

    tamper(run, insert)
    done = audit(run)
    assert done.exit_code == 1
    assert "contains words from message/13" in done.stdout
    assert "messages differ from those in the database" in done.stdout


def test_a_later_item_is_found(run: Path):
    def claim(row: Row) -> None:
        row["items"].append({"id": "message/13", "time": "2020-02-01T00:00:00Z"})

    tamper(run, claim)
    done = audit(run)
    assert done.exit_code == 1
    assert "message/13 is dated 2020-03-01T00:00:01Z, but the clock was at" in done.stdout


def test_a_wrong_time_is_found(run: Path):
    def antedate(row: Row) -> None:
        row["items"][0]["time"] = "2020-01-01T00:00:00Z"

    tamper(run, antedate, with_items)
    assert "but its date in the prompt is" in audit(run).stdout


@pytest.mark.integration
def test_an_item_from_nowhere_is_found(run: Path):
    tamper(run, lambda row: row["items"].append({"id": "message/999", "time": "2020-01-01T00:00:00Z"}))
    assert "message/999 is in neither" in audit(run).stdout


@pytest.mark.integration
def test_another_clock_is_found(run: Path):
    def turn(row: Row) -> None:
        row["as_of"] = "2021-01-01T00:00:00Z"

    tamper(run, turn)
    assert "does not match the run's" in audit(run).stdout


def test_a_hidden_answer_is_found(run: Path, tiny: Path):
    answer = (tiny / "private" / "answers.csv").read_text().splitlines()[7]

    def leak(row: Row) -> None:
        row["messages"][-1]["content"] += "\nlook: " + answer.replace(",", " | ") + ".0 |"

    tamper(run, leak)
    done = audit(run)
    assert done.exit_code == 1
    assert f"contains the hidden answer for row '{answer.split(',')[0]}'" in done.stdout


def test_a_prediction_that_a_visible_post_prints_is_no_leak(run: Path, tiny: Path):
    shown = (tiny / "private" / "answers.csv").read_text().splitlines()[1].replace(",", " ")
    assert any(shown in line for line in (run / "prompts.jsonl").read_text().splitlines())
    assert audit(run).exit_code == 0


@pytest.mark.integration
def test_a_reproduction_that_is_dated_before_its_kernel_is_found(run: Path):
    with sqlite3.connect(run / "state.db") as database:
        made = database.execute(
            "INSERT INTO reproduction SELECT run.id, 'kernel/21', 'Linear', 'ran', '', 2, .46, .45, NULL, 1.0, 0,"
            " replace(kernelversion.created_at, '2020-01-07', '2020-01-02') FROM run, kernelversion WHERE kernelversion.id = '21'"
        )
        assert made.rowcount == 1
    database.close()
    done = audit(run)
    assert done.exit_code == 1
    assert "reproduction/kernel/21 is dated 2020-01-02T00:00:00Z, but is based on kernel/21" in done.stdout


def test_a_missing_prompt_is_found(run: Path):
    path = run / "prompts.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))
    assert "but the database has" in audit(run).stdout


def test_a_run_without_prompts_proves_nothing(run: Path):
    (run / "prompts.jsonl").write_text("")
    with sqlite3.connect(run / "state.db") as database:
        database.execute("DELETE FROM modelcall")
    database.close()
    done = audit(run)
    assert done.exit_code == 1
    assert "nothing could be checked" in done.stdout


def test_a_line_that_is_no_json_is_named(run: Path):
    with (run / "prompts.jsonl").open("a") as file:
        file.write("{broken\n")
    assert "not JSON" in audit(run).stdout
