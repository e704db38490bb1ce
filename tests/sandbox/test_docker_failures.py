"""Containers where the engine fails, and where an ordinary user starts them."""

import asyncio
import contextlib
import gc
import os
import subprocess
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sandbox import ExitReason, ResourceUsage
from sandbox.docker import DockerSandbox
from sandbox.image.engine import engine_address
from sandbox.settings import SandboxSettings
from tests import needs
from tests.sandbox.conftest import make_request
from tests.sandbox.other_user import copy_code, open_folder, python_of


def broken(name: str) -> DockerSandbox:
    return DockerSandbox("test", SandboxSettings(image=name))


async def test_no_engine_is_the_engines_failure(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{place}/no.sock")
    outcome = await broken("any").run(make_request(place, "print(1)"))
    assert outcome.reason is ExitReason.INFRASTRUCTURE
    assert outcome.output == ""
    assert "Cannot connect to a Docker engine" in (outcome.detail or "")


async def test_something_that_is_no_engine_is_the_engines_failure(place, monkeypatch, tmp_path_factory) -> None:
    path = tmp_path_factory.mktemp("s") / "s"
    async with await asyncio.start_unix_server(lambda _, writer: writer.close(), path):
        monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
        outcome = await broken("any").run(make_request(place, "print(1)"))
    assert outcome.reason is ExitReason.INFRASTRUCTURE
    assert "Cannot connect to a Docker engine" in (outcome.detail or "")


@pytest.mark.integration
async def test_a_missing_image_names_how_to_make_it(place: Path) -> None:
    needs.docker()
    outcome = await broken("kaggle-bot-sandbox:never-made").run(make_request(place, "print(1)"))
    assert outcome.reason is ExitReason.INFRASTRUCTURE
    assert "make image" in (outcome.detail or "")
    assert broken("kaggle-bot-sandbox:never-made").problem() == outcome.detail.removeprefix("The sandbox failed: ")


@pytest.mark.integration
async def test_an_unknown_runtime_is_the_engines_failure(place: Path) -> None:
    needs.docker()
    settings = SandboxSettings(runtime="no-such-runtime")
    outcome = await DockerSandbox("test", settings).run(make_request(place, "print(1)"))
    assert outcome.reason is ExitReason.INFRASTRUCTURE
    assert "no-such-runtime" in (outcome.detail or "")


# The library leaves a socket to the garbage collector where it cannot connect.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.integration
async def test_an_engine_that_is_gone_in_the_middle_is_the_engines_failure(
    docker: DockerSandbox, place: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    real = engine_address().removeprefix("unix://")
    path = tmp_path_factory.mktemp("s") / "s"
    script = "import time; print('Traceback: it is mine', flush=True); time.sleep(60)"
    watch = FirstOutput()
    async with engine_behind(real, path) as gone:
        monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
        task = asyncio.create_task(docker.run(make_request(place, script), watch))
        while not watch.seen.is_set():
            await asyncio.sleep(0.05)
        gone.set()
        outcome = await task
    assert outcome.reason is ExitReason.INFRASTRUCTURE
    assert outcome.output == ""
    assert "Docker engine" in (outcome.detail or "")
    # Behind it the container goes on, as after a crash of the engine: its name makes way for the next attempt.
    monkeypatch.setenv("DOCKER_HOST", f"unix://{real}")
    again = await docker.run(make_request(place, "print('again')"))
    assert again.output == "again\n"
    gc.collect()


class FirstOutput:
    """Sees that a script runs by what it prints."""

    def __init__(self) -> None:
        self.seen = threading.Event()

    def output(self, chunk: bytes) -> None:
        self.seen.set()

    def usage(self, usage: ResourceUsage) -> None:
        pass


@asynccontextmanager
async def engine_behind(real: str, path: Path) -> AsyncIterator[asyncio.Event]:
    """Serve the engine under another address; when the event is set all connections end and none is made any more."""
    gone = asyncio.Event()
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_unix_connection(real)
        writers.extend((writer, far_writer))
        await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))

    server = await asyncio.start_unix_server(serve, path)

    async def cut() -> None:
        await gone.wait()
        server.close()
        for writer in writers:
            writer.transport.abort()

    cutting = asyncio.create_task(cut())
    try:
        yield gone
    finally:
        gone.set()
        await cutting


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while chunk := await reader.read(1 << 16):
            writer.write(chunk)
            await writer.drain()
        writer.write_eof()


NOBODY = "65534"

PROGRAM = """
import asyncio, sys
from pathlib import Path
from sandbox import ExecutionRequest, Limits
from sandbox.docker import DockerSandbox
from sandbox.settings import SandboxSettings

place = Path(sys.argv[1])
sandbox = DockerSandbox("ordinary")
assert sandbox.problem() is None, sandbox.problem()

def run(name, script, **limits):
    limits = {"seconds": 20.0, "memory_bytes": 2**28, **limits}
    out = place / "out" / name
    outcome = asyncio.run(sandbox.run(ExecutionRequest(name, script, place / "view", out, Limits(**limits))))
    print(name, outcome.reason, sorted(path.name for path in out.iterdir()), outcome.output.split())

run("user", "import getpass, os; print(os.getuid(), getpass.getuser()); open('submission.csv', 'w').write('x')")
run("memory", "x = [bytearray(b'x') * 2**20 for _ in range(2000)]")
run("bomb", "import os, time\\nfor _ in range(99):\\n    if os.fork() == 0: time.sleep(99)\\ntime.sleep(99)", processes=30)
run("late", "import time; time.sleep(99)", seconds=1)
run("locked", "import os; os.makedirs('a/b'); open('a/b/c', 'wb').write(bytes(10**7)); os.chmod('a', 0)", written_bytes=10**6)
"""


@pytest.mark.integration
def test_an_ordinary_user_is_held_by_the_same_limits_and_can_remove_what_scripts_left() -> None:
    needs.root()
    needs.docker()
    address = engine_address()
    group = Path(address.removeprefix("unix://")).stat().st_gid
    user = ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--groups", str(group), "env"]
    with open_folder() as place:
        copy_code(("sandbox", "state"), {"docker", "psutil", "pydantic", "pyseccomp"}, place / "code")
        (place / "view").mkdir()
        for path in (place, *place.rglob("*")):
            os.chown(path, int(NOBODY), int(NOBODY))
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(place / "code"), "DOCKER_HOST": address}
        command = [*user, python_of(user), "-c", PROGRAM, str(place)]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, cwd="/", timeout=120, check=False
        )
    lines = done.stdout.splitlines()
    assert lines[0] == f"user finished ['log.txt', 'submission.csv'] ['{NOBODY}', 'solution']", done.stderr
    ends = [line.split("[")[0].split() for line in lines[1:]]
    limits = ("out_of_memory", "process_limit", "timed_out", "disk_limit")
    assert ends == [list(pair) for pair in zip(("memory", "bomb", "late", "locked"), limits, strict=True)]
    assert all("['log.txt']" in line for line in lines[1:])
