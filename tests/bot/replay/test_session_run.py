"""Whole runs whose coder tries things out in a live session before it writes."""

import json
from pathlib import Path
from typing import Any

import pytest

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


@pytest.mark.parametrize("agent", ["aide", pytest.param("comind", marks=pytest.mark.integration)])
def test_a_run_with_sessions_tells_its_scripts_what_was_seen_and_repeats_from_its_recording(
    bot: Bot,
    tiny: Path,
    monkeypatch: pytest.MonkeyPatch,
    agent: str,
) -> None:
    common = ("replay", tiny, "--agent", agent, "--steps", 2, "--time", "4m", "--sandbox", "process", "--session")
    with ScriptedEndpoint(Explorers()) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        (live,) = results(bot(*common, "--model", "openai:scripted", "--record", "tape", "--json"))
    monkeypatch.delenv("OPENAI_BASE_URL")
    (written,) = [r.last for r in endpoint.requests if "Write the first script" in r.last]
    assert "5 columns" in written
    assert "Seen: it has five columns." in written
    assert live["nodes"] == 2
    assert 0 < live["session_seconds"] < live["wall_seconds"]
    assert events(live, "cell.run") == [2, 2]
    assert [e for e in events(live, "execution.started") if "session" in str(e)] == []
    calls = [json.loads(line) for line in (Path(live["run"]) / "prompts.jsonl").read_text().splitlines()]
    assert [c["role"] for c in calls if c["prompt"] == "explore"] == ["explorer"] * 3
    assert bot("audit", live["run"]).exit_code == 0
    (again,) = results(bot(*common, "--model", f"recorded:{Path('tape').resolve()}", "--json"))
    assert again["score"] == live["score"]
    assert events(again, "cell.run") == [2, 2]
    assert again["llm"]["calls"] == live["llm"]["calls"]


def events(result: dict[str, Any], kind: str) -> list[int]:
    """Return the nodes of a run's events of one kind."""
    lines = (Path(result["run"]) / "events.jsonl").read_text().splitlines()
    return [event["node"] for event in map(json.loads, lines) if event["type"] == kind]
