"""Whole runs whose coder tries things out in a live session before it writes."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from state.errors import UsageError
from tests.bot.replay.conftest import Bot, results
from tests.bot.replay.scripted_answers import Answers
from tests.scripted_endpoint import Reply, Request, ScriptedEndpoint


class Explorers(Answers):
    """A model that reads the table in two cells before each script."""

    def __call__(self, request: Request) -> Reply | str:
        system, user = (str(m["content"]) for m in request.body["messages"][:2])
        if "live Python session" not in system:
            return super().__call__(request)
        if "## Cell 2" in user:
            return "DONE\nSeen: it has five columns."
        if "## Cell 1" in user:
            return "Look.\n```python\nprint(len(table.columns), 'columns')\n```"
        return "Read.\n```python\nimport pandas as pd\ntable = pd.read_csv('data/train.csv')\n```"


OPTIONS = ("--steps", 2, "--time", "4m", "--sandbox", "process", "--session", "--json")


@pytest.mark.integration
def test_a_run_with_sessions_tells_its_scripts_what_was_seen_and_what_it_took(
    bot: Bot, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedEndpoint(Explorers()) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        (result,) = results(bot("replay", tiny, "--agent", "aide", "--model", "openai:scripted", *OPTIONS))
    (written,) = [r.last for r in endpoint.requests if "Write the first script" in r.last]
    assert "5 columns" in written
    assert "Seen: it has five columns." in written
    assert result["nodes"] == 2
    assert 0 < result["session_seconds"] < result["wall_seconds"]
    assert events(result, "cell.run") == [2, 2]
    assert [e["execution"] for e in all_events(result, "execution.started") if "session" in e["execution"]] == []
    calls = [json.loads(line) for line in (Path(result["run"]) / "prompts.jsonl").read_text().splitlines()]
    assert [c["role"] for c in calls if c["prompt"] == "explore"] == ["explorer"] * 3
    assert bot("audit", result["run"]).exit_code == 0


@pytest.mark.integration
@pytest.mark.parametrize("agent", ["aide", "comind"])
def test_a_run_with_sessions_repeats_from_its_recording(
    bot: Bot, tiny: Path, monkeypatch: pytest.MonkeyPatch, agent: str
) -> None:
    with ScriptedEndpoint(Explorers()) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        common = ("replay", tiny, "--agent", agent, *OPTIONS)
        (live,) = results(bot(*common, "--model", "openai:scripted", "--record", "tape"))
    monkeypatch.delenv("OPENAI_BASE_URL")
    (again,) = results(bot(*common, "--model", f"recorded:{Path('tape').resolve()}"))
    assert again["score"] == live["score"]
    assert events(again, "cell.run") == events(live, "cell.run") == [2, 2]
    assert again["llm"]["calls"] == live["llm"]["calls"]


def test_sessions_need_packages_and_say_which(bot: Bot, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipykernel", None)
    done = bot("replay", tiny, "--model", "builtin", "--sandbox", "process", "--session", catch=True)
    assert isinstance(done.exception, UsageError)
    assert "A session needs ipykernel: pip install" in str(done.exception)


def events(result: dict[str, Any], kind: str) -> list[int]:
    """Return the nodes of a run's events of one kind."""
    return [event["node"] for event in all_events(result, kind)]


def all_events(result: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """Return a run's events of one kind."""
    lines = (Path(result["run"]) / "events.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["type"] == kind]
