"""What the replay's tests share: the tiny snapshot, and a way to run the command line in this process."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from bot.cli import app
from tests.tiny_snapshot import write_tiny

Bot = Callable[..., Result]


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the tiny snapshot's folder."""
    return write_tiny(tmp_path_factory.mktemp("snapshots") / "tiny-table")


@pytest.fixture
def bot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Bot:
    """Return a function that runs `bot` with arguments, in an empty folder and without a key."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object, catch: bool = False) -> Result:
        return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=catch)

    return run


def results(result: Result) -> list[dict[str, Any]]:
    """Return what `--json` printed."""
    return [json.loads(line) for line in result.stdout.splitlines()]
