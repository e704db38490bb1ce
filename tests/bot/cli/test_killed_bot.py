"""A bot killed with -9 in mid-execution: the next start leaves nothing of it behind, and nothing of another bot's less."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from sandbox.image.engine import connect
from sandbox.instance import instance_of
from sandbox.leftovers import find_orphaned_resources
from sandbox.profile import INSTANCE
from tests import needs
from tests.bot.replay.scripted_answers import Answers
from tests.scripted_endpoint import Reply, Request, ScriptedEndpoint
from tests.tiny_snapshot import write_tiny

pytestmark = pytest.mark.integration

SLEEPER = """Slow.
```python
import os, subprocess, sys, time
# {token}
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600) # {token}"], start_new_session=True)
open("/tmp/left", "w").write("x") if os.environ["TMPDIR"] == "/tmp" else open(os.environ["TMPDIR"] + "/left", "w")
open("started", "w").close()
time.sleep(600)
```"""


class SlowAnswers(Answers):
    """Writes scripts that start an orphan and go on for ten minutes."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self.token = token

    def __call__(self, request: Request) -> Reply | str:
        reply = super().__call__(request)
        return SLEEPER.replace("{token}", self.token) if isinstance(reply, Reply) else reply


@contextlib.contextmanager
def bot_at_work(place: Path, name: str, sandbox: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a replay, and wait until a script of its model runs."""
    with ScriptedEndpoint(SlowAnswers(f"token-{name}")) as endpoint:
        environment = {**os.environ, "OPENAI_BASE_URL": endpoint.url, "BOT_LEASES": str(place / f"leases-{name}")}
        command = [*command_for(place, name, sandbox), "--model", "openai:x", "--steps", "3", "--no-community"]
        with (place / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + 300
            while not list((place / name).glob("*/executions/*/.execution/work/started")):
                assert process.poll() is None, (place / f"{name}.log").read_text()
                assert time.monotonic() < deadline, (place / f"{name}.log").read_text()
                time.sleep(0.05)
            yield process
        finally:
            process.kill()
            process.wait()


def command_for(place: Path, name: str, sandbox: str) -> list[str]:
    options = f"--coder script --sandbox {sandbox} --out {place / name}"
    return [sys.executable, "-m", "bot", "replay", str(place / "tiny"), *options.split()]


def processes(token: str) -> list[psutil.Process]:
    """Return those that run the script with this token, or what it has started."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.status() != psutil.STATUS_ZOMBIE and token in " ".join(process.cmdline()):
                found.append(process)
    return found


def containers(folder: Path) -> list[str]:
    with connect() as engine:
        label = f"{INSTANCE}={instance_of(folder)}"
        return [one.name for one in engine.containers.list(all=True, filters={"label": label})]


@pytest.mark.parametrize("sandbox", [pytest.param("process", marks=pytest.mark.trial), "bubblewrap", "docker"])
def test_after_kill_9_in_mid_run_the_next_start_leaves_nothing_and_another_bot_goes_on(tmp_path, sandbox) -> None:
    {"process": lambda: None, "bubblewrap": needs.bubblewrap, "docker": needs.docker}[sandbox]()
    write_tiny(tmp_path / "tiny")
    with bot_at_work(tmp_path, "alive", sandbox) as alive, bot_at_work(tmp_path, "dead", sandbox) as dead:
        assert processes("token-dead")
        dead.kill()
        dead.wait()
        assert list((tmp_path / "dead").glob("*/executions/[!.]*/.execution"))
        if sandbox == "process":
            assert processes("token-dead"), "what the script has started outlives it"
        if sandbox == "docker":
            assert containers(tmp_path / "dead")
        next_start = [*command_for(tmp_path, "dead", sandbox), "--model", "builtin", "--time", "11s"]
        done = subprocess.run(next_start, capture_output=True, text=True, timeout=300, check=False)
        assert "cleaned up after a killed bot: removed" in done.stderr
        assert processes("token-dead") == []
        assert list((tmp_path / "dead").glob("*/executions/**/.execution")) == []
        assert list((tmp_path / "dead").glob("*/executions/.spare-*")) == []
        assert find_orphaned_resources(tmp_path / "dead") == []
        assert str(tmp_path / "dead") not in Path("/proc/self/mountinfo").read_text()
        assert alive.poll() is None
        assert processes("token-alive")
        assert list((tmp_path / "alive").glob("*/executions/*/.execution/work/started"))
        if sandbox == "docker":
            assert containers(tmp_path / "dead") == []
            assert len([name for name in containers(tmp_path / "alive") if "-spare-" not in name]) == 1
    for left in find_orphaned_resources(tmp_path / "alive"):
        left.remove()
    assert processes("token-alive") == []
