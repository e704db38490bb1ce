"""What the replay's tests share: the tiny snapshot, a way to run the command line in this process, and finished runs.

A run takes seconds, and many assertions can read one. Tests of a shared run carry the mark `xdist_group` of its name, so
that one worker makes it for all of them; nothing in its folder may be changed.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from bot.cli import app
from tests.bot.replay.scripted_answers import Answers
from tests.bot.replay.stream_parts import STEPS, StreamAnswers, write_streamed
from tests.scripted_endpoint import Reply, Request, ScriptedEndpoint
from tests.tiny_snapshot import write_tiny

Bot = Callable[..., Result]


@dataclass(frozen=True)
class Finished:
    """A run that came to its end."""

    result: dict[str, Any]
    """What `--json` printed of it."""
    requests: Sequence[Request]
    """What the model was asked."""

    @property
    def folder(self) -> Path:
        """The run's folder."""
        return Path(self.result["run"])


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the tiny snapshot's folder."""
    return write_tiny(tmp_path_factory.mktemp("snapshots") / "tiny-table")


@pytest.fixture(scope="session")
def comind_run(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Return a short run of CoMind over HTTP."""
    return _finished(Answers(), tmp_path_factory.mktemp("comind"), tiny, "--steps", 4)


@pytest.fixture(scope="session")
def streamed_snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a snapshot with posts in the middle of its time."""
    return write_streamed(tmp_path_factory.mktemp("snapshots") / "tiny-table")


@pytest.fixture(scope="session")
def streamed_run(streamed_snapshot: Path, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Return a run whose clock moved; the folder `tape` beside its `runs` holds its recording."""
    place = tmp_path_factory.mktemp("streamed")
    options = ("--pace", "stream", "--steps", STEPS, "--cpus", 1, "--record", place / "tape")
    return _finished(StreamAnswers(), place, streamed_snapshot, *options)


def _finished(answers: Callable[[Request], Reply | str], place: Path, snapshot: Path, *options: object) -> Finished:
    """Run to the end, with the scripted model."""
    with pytest.MonkeyPatch.context() as patch, ScriptedEndpoint(answers) as endpoint:
        patch.setenv("OPENAI_BASE_URL", endpoint.url)
        more = ("--model", "openai:scripted", "--sandbox", "process", "--out", place / "runs", "--json")
        command = ["replay", str(snapshot), *map(str, (*options, *more))]
        done = CliRunner().invoke(app, command, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    (result,) = results(done)
    return Finished(result, endpoint.requests)


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
