"""Tests of `bot coder check`: with a tiny agent, one that does nothing, and real ones where they are installed."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from bot.agents.builtin import BUILT_IN
from bot.cli import app
from bot.coder.coder_config import PRESETS
from bot.engine.strategy import Script
from tests import needs

pytestmark = pytest.mark.integration

TINY = Path(__file__).parents[1] / "coder" / "tiny_agent.py"
SEEN = (
    "called its model",
    "followed its instructions",
    "logged an experiment",
    "improved its score",
    "ended cleanly",
    "was charged correctly",
)


IN_CI = {"mini-swe-agent": "docker", "opencode": "bubblewrap"}
"""Agents that continuous integration installs, and where each works: both back ends have seen a real one."""
COPIES = """import shutil
for sample, made in (("sample_submission", "submission"), ("sample_validation", "validation_predictions")):
    shutil.copy(f"data/{sample}.csv", f"{made}.csv")
"""


@pytest.fixture(autouse=True)
def baseline(monkeypatch: pytest.MonkeyPatch) -> None:
    """A baseline that is there at once: in idle time the engine's own takes minutes beside other tests."""
    copies = Script(plan="The sample submission.", code=COPIES, action="draft")
    monkeypatch.setattr("bot.replay.run.BUILT_IN", replace(BUILT_IN, baseline=lambda task, preview: copies))


def check(name: str, back_end: str, table: str, folder: Path) -> tuple[Result, dict[str, Any]]:
    (needs.docker if back_end == "docker" else needs.bubblewrap)()
    file = folder / "bot.toml"
    file.write_text(table and f"[coders.{name}]\n{table}\n")
    options = ["coder", "check", name, "--sandbox", back_end, "--config", str(file), "--json"]
    done = CliRunner().invoke(app, options, catch_exceptions=False)
    return done, json.loads(done.stdout)


@pytest.mark.parametrize("back_end", ["bubblewrap", "docker"])
def test_an_agent_that_works_passes(back_end: str, tmp_path: Path) -> None:
    table = f'command = "exec python3 {TINY}"\ndialect = "chat"\nfiles = ["{TINY}"]'
    done, found = check("tiny", back_end, table, tmp_path)
    assert [(one["title"], one["ok"]) for one in found["seen"]] == [(what, True) for what in SEEN], found
    assert (found["ok"], done.exit_code) == (True, 0)


def test_an_agent_that_does_nothing_fails_and_what_it_printed_is_shown(tmp_path: Path) -> None:
    table = 'command = "echo I have no idea; exit 4"\ndialect = "messages"'
    done, found = check("idle", "bubblewrap", table, tmp_path)
    assert [one["title"] for one in found["seen"] if one["ok"]] == ["was charged correctly"]
    assert "its coder sent no request to its model: it exited with status 4" in found["seen"][4]["finding"]
    assert "I have no idea" in found["printed"]
    assert done.exit_code == 1


@pytest.mark.parametrize(
    ("name", "back_end"),
    [
        pytest.param(name, back_end, marks=() if IN_CI.get(name) == back_end else pytest.mark.trial)
        for name in PRESETS
        for back_end in ("bubblewrap", "docker")
    ],
)
def test_real_agents_on_path_pass_without_a_table(name: str, back_end: str, tmp_path: Path) -> None:
    command = Path(PRESETS[name].program).name
    if shutil.which(command) is None:
        (needs.missing if name in IN_CI else pytest.skip)(f"no {command} on PATH: {PRESETS[name].install}")
    done, found = check(name, back_end, "", tmp_path)
    assert [(one["title"], one["ok"]) for one in found["seen"]] == [(what, True) for what in SEEN], found
    assert done.exit_code == 0
