"""What the replay's tests share: the tiny snapshot, a way to run the command line in this process, and finished runs.

A run takes seconds, and many assertions can read one; nothing in the folder of a shared run may be changed.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from bot.agents.builtin import BUILT_IN, baseline_script
from bot.cli import app
from bot.engine.strategy import Script
from bot.evaluation.client.worker import Worker
from bot.execution.task import TaskText
from tests.bot.replay.scripted_answers import SCRIPT, Answers
from tests.bot.replay.stream_parts import STEPS, StreamAnswers, write_streamed
from tests.made_once import made_once
from tests.scripted_endpoint import Reply, Request, ScriptedEndpoint
from tests.tiny_snapshot import TITLE, write_tiny

Bot = Callable[..., Result]


@dataclass(frozen=True)
class Finished:
    """A run that came to its end."""

    result: dict[str, Any]
    """What `--json` printed of it."""
    asked: int
    """Requests to the model."""

    @property
    def folder(self) -> Path:
        """The run's folder."""
        return Path(self.result["run"])


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the tiny snapshot's folder."""
    return write_tiny(tmp_path_factory.mktemp("snapshots") / "tiny-table")


@pytest.fixture(scope="session")
def comind_run(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Return a short run of CoMind over HTTP."""

    def make(place: Path) -> None:
        finish(Answers(), place, write_tiny(place / "tiny-table"), "--steps", 4)

    return finished(made_once(tmp_path_factory, "comind", make))


@pytest.fixture(scope="session")
def streamed_run(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Return a run whose clock moved; its snapshot lies two folders above it, and so does its recording, `tape`."""

    def make(place: Path) -> None:
        options = ("--pace", "stream", "--steps", STEPS, "--cpus", 1, "--record", place / "tape")
        finish(StreamAnswers(), place, write_streamed(place / "tiny-table"), *options)

    return finished(made_once(tmp_path_factory, "streamed", make))


def finish(answers: Callable[[Request], Reply | str], place: Path, snapshot: Path, *options: object) -> None:
    """Have a run come to its end with the scripted model, in a folder."""
    with pytest.MonkeyPatch.context() as patch, ScriptedEndpoint(answers) as endpoint:
        patch.setenv("OPENAI_BASE_URL", endpoint.url)
        more = ("--model", "openai:scripted", "--sandbox", "process", "--out", place / "runs", "--json")
        command = ["replay", str(snapshot), *map(str, (*options, *more))]
        done = CliRunner().invoke(app, command, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    (place / "printed.json").write_text(json.dumps([*results(done), len(endpoint.requests)]))


def finished(place: Path) -> Finished:
    """Return the run that came to its end in a folder."""
    return Finished(*json.loads((place / "printed.json").read_text()))


def draw_no_page(patch: pytest.MonkeyPatch) -> None:
    """Have runs of this process draw no page, which takes seconds."""
    call = Worker.call

    async def call_others(worker: Worker, function: str, *args: Any, **kwargs: Any) -> Any:
        return None if function == "bot.report.page:write_report" else await call(worker, function, *args, **kwargs)

    patch.setattr(Worker, "call", call_others)


def begin_quickly(patch: pytest.MonkeyPatch) -> None:
    """Have runs of this process on the tiny table begin with a script that imports little; others begin as they do."""

    def baseline(task: TaskText, preview: str) -> Script:
        if task.title != TITLE:
            return baseline_script(task, preview)
        return Script(plan="A safe baseline: a weak linear model.", code=SCRIPT.format(c=1e-4), action="draft")

    for place in ("bot.replay.run", "tests.bot.live.site_parts"):
        patch.setattr(f"{place}.BUILT_IN", replace(BUILT_IN, baseline=baseline))


@pytest.fixture
def pageless(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that do not look at a run's page."""
    draw_no_page(monkeypatch)


@pytest.fixture
def light(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that look neither at a run's page nor at its baseline: most of a short run's seconds are theirs."""
    draw_no_page(monkeypatch)
    begin_quickly(monkeypatch)


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
