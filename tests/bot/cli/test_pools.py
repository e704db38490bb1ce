"""`bot ideas` and `bot reports`: whose idea it is, what came of it, and one report in full."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from bot.cli import app
from state.errors import UsageError
from state.knowledge import add_idea, close_idea
from tests.bot.status import parts
from tests.bot.status.parts import NOW, RUN, SPOOKY


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("bot.toml").write_text('[daemon]\ndir = "state"\n', encoding="utf-8")
    parts.busy(tmp_path / "state")
    return tmp_path / "state"


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


def objects(*arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in invoke(*arguments, "--json").stdout.splitlines()]


def test_an_idea_is_shown_with_its_evidence_and_whose_it_is() -> None:
    first, second = objects("ideas", SPOOKY)
    assert (first["number"], first["support"], first["times_used"], first["gains"]) == (1, 5.9, 1, [])
    assert [(one["item"], one["title"], one["author"]) for one in first["sources"]] == [
        ("message/71", "Which words tell?", "ann"),
        ("kernel/6", "Naive Bayes", "cy"),
    ]
    assert (first["basis"], second["basis"]) == ("claimed in posts", "not judged")
    assert (second["support"], second["times_used"], second["gains"], second["sources"]) == (5.0, 0, [], [])
    shown = invoke("ideas").stdout
    assert "message/71: Which words tell? by ann" in shown
    assert max(map(len, shown.splitlines())) <= 100


def test_a_source_that_is_no_longer_there_is_named_alone_and_a_report_by_its_title(folder: Path) -> None:
    with parts.opened(folder, parts.StandingClock(NOW)) as store, store.write() as tx:
        sources = ["message/72", "report/1", "report/9"]
        add_idea(tx, RUN, text="[/bold] is no markup", sources=sources, known_at=NOW)
    found = objects("ideas", SPOOKY)[-1]
    assert [one["title"] for one in found["sources"]] == [None, "Letters help", None]
    assert "[/bold] is no markup" in invoke("ideas").stdout


def test_an_idea_that_was_retired_comes_last_with_the_reason(folder: Path) -> None:
    with parts.opened(folder, parts.StandingClock(NOW)) as store, store.write() as tx:
        close_idea(tx, RUN, 1, "retired", reason="measured without a gain", known_at=NOW)
    last = objects("ideas", SPOOKY)[-1]
    assert (last["number"], last["state"], last["reason"]) == (1, "retired", "measured without a gain")
    assert "retired" in invoke("ideas").stdout


def test_reports_are_listed_and_one_is_shown_in_full() -> None:
    (listed,) = objects("reports", SPOOKY)
    assert (listed["number"], listed["score"], listed["best_node"], listed["ideas"]) == ("1", 0.4, 3, [1])
    assert "Letters help" in invoke("reports").stdout
    shown = invoke("reports", SPOOKY, "1").stdout
    assert shown.startswith(f"{SPOOKY}, report 1: Letters help\nscore 0.4 (node 3); draft 1 from ideas 1\n")
    assert "method:\n  Bayes over letters.\n" in shown
    assert "limitations:\n  Slow.\n" in shown
    assert objects("reports", SPOOKY, "1") == [listed]


def test_what_there_is_not_is_said_with_what_there_is() -> None:
    with pytest.raises(UsageError, match=rf"no run on wine: choose from {SPOOKY}"):
        invoke("ideas", "wine")
    with pytest.raises(UsageError, match=rf"unknown report 7 on {SPOOKY}: known: 1"):
        invoke("reports", SPOOKY, "7")
    Path("bot.toml").write_text('[daemon]\ndir = "nowhere"\n', encoding="utf-8")
    with pytest.raises(UsageError, match=r"database not found: .*nowhere"):
        invoke("ideas")
    assert not Path("nowhere").exists()


@pytest.mark.parametrize("command", ["status", "ideas", "reports"])
def test_help_has_an_example(command: str) -> None:
    assert f"Example: bot {command}" in invoke(command, "--help").stdout
