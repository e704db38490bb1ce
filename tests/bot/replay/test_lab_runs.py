"""Whole runs with a lab: recorded and played back, and ended by a cap."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests import needs
from tests.bot.replay.conftest import Bot, results
from tests.bot.replay.scripted_answers import LabAnswers
from tests.scripted_endpoint import Reply, Request, ScriptedEndpoint

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("light")]

OPTIONS = ("--sandbox", "bubblewrap", "--steps", 4, "--time", "20m", "--json")
CALL_TOKENS = 20_500
PRICE = 10e-6
"""USD a token."""


@pytest.fixture(autouse=True)
def walls(tmp_path: Path) -> None:
    """These labs need bubblewrap."""
    needs.bubblewrap()
    tmp_path.chmod(0o755)


def rows(result: dict[str, Any], query: str) -> list[tuple[Any, ...]]:
    """Return what a run's database has."""
    with closing(sqlite3.connect(Path(result["run"]) / "state.db")) as database:
        return database.execute(query).fetchall()


def test_a_recording_gives_the_same_conversation_and_nodes_and_the_log_can_be_followed(bot, tiny, monkeypatch) -> None:
    answers = LabAnswers()
    faults = {
        2: Reply(calls=['{"command": "ls -'], finish="length"),
        4: Reply("half an answer", cut_after=40),
        6: Reply(calls=['{"command": 5}'], text="As a number."),
    }

    def faulty(request: Request) -> Reply | str:
        if "tools" not in request.body:
            return answers(request)
        number = sum("tools" in one.body for one in endpoint.requests)
        if number == 3:
            (run,) = Path("runs").iterdir()
            command = [sys.executable, "-m", "bot", "logs", str(run), "--lab", "2", "--follow"]
            following.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        return faults.pop(number, None) or answers(request)

    following: list[subprocess.Popen[str]] = []
    with ScriptedEndpoint(faulty) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        (live,) = results(bot("replay", tiny, "--model", "openai:scripted", "--record", "tape", *OPTIONS))
    (again,) = results(bot("replay", tiny, "--model", "recorded:tape", *OPTIONS))
    assert not faults
    followed, _ = following[0].communicate(timeout=60)
    assert followed == bot("logs", live["run"], "--lab", 2).stdout
    assert followed.count("$ ") >= len(LabAnswers.COMMANDS)
    kept = [
        "SELECT step, answer_sha FROM modelcall ORDER BY step, seq",
        # Where labs end at once, as recorded answers take no time, the baseline (node 1) is not waited for.
        "SELECT id, action, parents, status, score, code_sha FROM node WHERE id > 1 ORDER BY id",
        "SELECT turns, reason, report, notes FROM lab",
        "SELECT node, name, kind, uses, sources, retrain, lab, turn, note FROM experiment WHERE kind != 'ensemble'",
    ]
    for query in kept:
        assert rows(live, query) == rows(again, query)
    assert [row[3] for row in rows(live, kept[1]) if row[1] != "ensemble"] == ["valid"] * 3
    assert rows(live, kept[2])[0][:2] == (len(LabAnswers.COMMANDS) + 2, "its coder finished")
    # What is handed in hangs on seconds: a recording is faster than a model.
    assert (again["llm"]["calls"], again["llm"]["cost_usd"]) == (len(rows(live, kept[0])), 0)


@pytest.mark.parametrize(
    ("option", "cap", "kind"),
    [pytest.param("--max-tokens", 110_000, "tokens", marks=pytest.mark.trial), ("--max-cost", 1.1, "money")],
)
def test_a_lab_under_a_cap_ends_in_order_and_what_it_logged_is_handed_in(bot, tiny, monkeypatch, option, cap, kind):
    Path("bot.toml").write_text("[models]\nmax_tokens = 1000\n[models.prices]\nscripted = {input = 10, output = 10}\n")
    with ScriptedEndpoint(LabAnswers(prompt_tokens=CALL_TOKENS - 500, completion_tokens=500)) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        done = bot("replay", tiny, "--model", "openai:scripted", option, cap, *OPTIONS)
        (result,) = results(done)
        calls = sum("tools" in request.body for request in endpoint.requests)
    assert (done.exit_code, result["status"], result["valid_submission"]) == (0, "finished", True)
    assert f"the run's cap on {kind} has been reached" in result["stopped_by"]
    assert calls == 4
    # Reading and ideas, beside the lab, take a little.
    tokens = result["budget"]["run"]["tokens"]["spent"]
    assert calls * CALL_TOKENS <= tokens < (calls + 1) * CALL_TOKENS
    spent = {"money": tokens * PRICE, "tokens": tokens}
    assert spent[kind] <= cap
    for name, amount in spent.items():
        assert result["budget"]["run"][name]["spent"] == pytest.approx(amount, abs=1e-9)
    assert result["llm"]["cost_usd"] == pytest.approx(spent["money"], abs=1e-9)
    ((cost, tokens),) = rows(
        result, "SELECT sum(cost_usd), sum(prompt_tokens + completion_tokens) FROM ledgerentry WHERE kind = 'tokens'"
    )
    assert (pytest.approx(cost, abs=1e-9), tokens) == (spent["money"], spent["tokens"])
    ((turns, reason),) = rows(result, "SELECT turns, reason FROM lab")
    assert (turns, reason) == (calls, result["stopped_by"])
    # The two experiments that were logged by the third reply; the baseline, in idle time, may not have ended by then.
    nodes = rows(result, "SELECT status FROM node WHERE action != 'ensemble' AND model != 'builtin'")
    assert nodes == [("valid",)] * 2


class Looking(LabAnswers):
    COMMANDS = ("ls /lab/knowledge; cat /lab/knowledge/index.md; echo x > /lab/knowledge/x", *LabAnswers.COMMANDS)


def test_a_lab_finds_the_knowledge_that_its_clock_allows_and_the_audit_covers_it(bot, tiny, monkeypatch) -> None:
    with ScriptedEndpoint(Looking()) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        (result,) = results(bot("replay", tiny, "--model", "openai:scripted", *OPTIONS))
    shown = result["knowledge"]
    assert (shown["shown"], shown["younger"]) == ("clock", 0)
    assert "trees-before-networks-on-tables" not in shown["entries"], "it is younger than the competition"
    assert len(shown["entries"]) > 5
    ((task, seen),) = [
        (conversation[1]["content"], conversation[3]["content"]) for conversation in second_turns(result)
    ]
    assert f"lists {len(shown['entries'])} short files" in task
    assert all(f"{entry}.md" in seen for entry in shown["entries"])
    assert "Read-only file system" in seen
    assert bot("audit", result["run"]).exit_code == 0


@pytest.mark.trial
def test_a_lab_without_knowledge_finds_none(bot: Bot, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedEndpoint(Looking()) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        (without,) = results(bot("replay", tiny, "--model", "openai:scripted", "--knowledge", "none", *OPTIONS))
    assert without["knowledge"] == {"shown": "none", "entries": [], "younger": 0}
    ((task, seen),) = [
        (conversation[1]["content"], conversation[3]["content"]) for conversation in second_turns(without)
    ]
    assert "/lab/knowledge" not in task
    assert "No such file or directory" in seen


def second_turns(result: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Return what the second turn of each lab sent."""
    prompts = map(json.loads, (Path(result["run"]) / "prompts.jsonl").read_text().splitlines())
    return [prompt["messages"] for prompt in prompts if "/turn:2/" in prompt["step"]]
