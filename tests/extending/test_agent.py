"""The page on agents: its toy finishes a run with the built-in model."""

import json
from pathlib import Path

import pytest

from tests.extending.toys import Copy
from tests.tiny_snapshot import write_tiny


@pytest.mark.integration
def test_an_agent_is_a_folder_and_a_line(tmp_path: Path) -> None:
    copy = Copy(tmp_path / "copy", "agent.md")
    assert copy.touched == ["bot/agents/greedy/__init__.py", "bot/agents/__init__.py"]
    copy.lint()
    settings = "from bot.configuration.competition import CompetitionSettings as C; print(C(agent='greedy').agent)"
    assert copy.python(settings) == "greedy\n"


@pytest.mark.integration  # a run takes seconds
def test_the_agent_of_the_page_improves_the_baseline(tmp_path: Path) -> None:
    copy = Copy(tmp_path / "copy", "agent.md")
    tiny = write_tiny(tmp_path / "tiny-table")
    options = ("--model", "builtin", "--steps", 2, "--sandbox", "process", "--json", "--out", tmp_path / "runs")
    result = json.loads(copy.bot("replay", tiny, "--agent", "greedy", *options))
    assert (result["agent"], result["nodes"], result["valid_submission"]) == ("greedy", 2, True)
    lines = (Path(result["run"]) / "events.jsonl").read_text(encoding="utf-8").splitlines()
    made = [event for event in map(json.loads, lines) if event["type"] == "node.created"]
    assert [event["action"] for event in made if event["action"] != "ensemble"] == ["draft", "improve"]
