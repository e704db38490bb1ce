"""`bot status` of a daemon: read from its database alone, while it writes, and nothing changed by it."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from bot.cli import app
from tests.bot.looking import parts
from tests.bot.looking.parts import NOMAD, SPOOKY

TOML = f"""
[daemon]
dir = "state"

[budget.day]
money = 2.0

[competitions.{SPOOKY}]
submit = true
max_cost_per_day = 1.0
submissions_per_day = 3

[competitions.{NOMAD}]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("bot.toml").write_text(TOML, encoding="utf-8")
    return tmp_path / "state"


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["status", *arguments], catch_exceptions=False)


def status() -> dict[str, Any]:
    done = invoke("--json")
    assert done.exit_code == 0, done.output
    (line,) = done.stdout.splitlines()
    found: dict[str, Any] = json.loads(line)
    return found


def test_x(folder: Path) -> None:
    parts.busy(folder)
    print(invoke().stdout)
    for args in (["ideas"], ["reports", SPOOKY], ["reports", SPOOKY, "1"], ["ideas", "--json"], ["ideas", "--help"]):
        print(CliRunner().invoke(app, args, catch_exceptions=False).stdout)
