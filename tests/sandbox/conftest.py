"""What the sandbox's tests share: the back ends, a small view, and a way to run a script."""

import uuid
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from sandbox import ExecutionOutcome, ExecutionRequest, Limits, Sandbox
from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.docker import DockerSandbox
from sandbox.image.engine import connect
from sandbox.process import ProcessSandbox
from sandbox.profile import INSTANCE
from tests import needs

Run = Callable[..., Awaitable[ExecutionOutcome]]
SMALL = 256 * 1024**2


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a view of one table, a label file beside it, and room for what comes out."""
    (tmp_path / "view").mkdir()
    (tmp_path / "view" / "train.csv").write_text("id,x\n1,2\n")
    (tmp_path / "labels.csv").write_text("id,y\n1,LABEL\n")
    return tmp_path


@pytest.fixture
def bubblewrap() -> BubblewrapSandbox:
    needs.bubblewrap()
    return BubblewrapSandbox()


@pytest.fixture
def docker() -> Iterator[DockerSandbox]:
    """Containers of an instance of the test's own, of which none may be left."""
    needs.docker()
    instance = f"test-{uuid.uuid4().hex}"
    yield DockerSandbox(instance)
    with connect() as engine:
        left = engine.containers.list(all=True, filters={"label": f"{INSTANCE}={instance}"})
        for container in left:
            container.remove(force=True)
    assert [container.name for container in left] == []


DOCKER = pytest.param("docker", marks=pytest.mark.integration)


@pytest.fixture(params=["process", "bubblewrap", DOCKER])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Each back end in turn."""
    return ProcessSandbox() if request.param == "process" else request.getfixturevalue(request.param)


@pytest.fixture(params=["bubblewrap", DOCKER])
def isolated(request: pytest.FixtureRequest) -> Sandbox:
    """Each back end that isolates, in turn."""
    return request.getfixturevalue(request.param)


def runner(sandbox: Sandbox, place: Path) -> Run:
    """Return a function that runs a script; its further arguments go into the limits or the request."""

    async def run(script: str, **options: object) -> ExecutionOutcome:
        return await sandbox.run(make_request(place, script, **options))

    return run


def make_request(place: Path, script: str, **options: object) -> ExecutionRequest:
    names = ("keep", "environment", "out", "lease", "mounts", "inputs", "idle")
    of_request = {key: options.pop(key) for key in names if key in options}
    limits = {"seconds": 20.0, "memory_bytes": SMALL, "processes": 64, **options}
    return ExecutionRequest(
        "test",
        dedent(script),
        place / "view",
        of_request.pop("out", place / "out"),  # type: ignore[arg-type]  # tests pass what the request takes
        Limits(**limits),  # type: ignore[arg-type]  # the same
        **of_request,  # type: ignore[arg-type]  # the same
    )


@pytest.fixture
def run(sandbox: Sandbox, place: Path) -> Run:
    """Run a script in each back end."""
    return runner(sandbox, place)


@pytest.fixture
def run_isolated(isolated: Sandbox, place: Path) -> Run:
    """Run a script in each back end that isolates."""
    return runner(isolated, place)


@pytest.fixture
def run_bubblewrap(bubblewrap: BubblewrapSandbox, place: Path) -> Run:
    """Run a script under bubblewrap."""
    return runner(bubblewrap, place)


@pytest.fixture
def run_docker(docker: DockerSandbox, place: Path) -> Run:
    """Run a script in a container."""
    return runner(docker, place)
