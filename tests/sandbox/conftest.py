"""What the sandbox's tests share: both back ends, a small view, and a way to run a script."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from textwrap import dedent

import pytest

from sandbox import ExecutionRequest, Limits, Outcome, Sandbox
from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.process import ProcessSandbox
from tests import needs

Run = Callable[..., Awaitable[Outcome]]
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


@pytest.fixture(params=["process", "bubblewrap"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Each back end in turn."""
    if request.param == "bubblewrap":
        needs.bubblewrap()
        return BubblewrapSandbox()
    return ProcessSandbox()


def runner(sandbox: Sandbox, place: Path) -> Run:
    """Return a function that runs a script; what it is told beyond that goes into the limits or the request."""

    async def run(script: str, **options: object) -> Outcome:
        return await sandbox.run(make_request(place, script, **options))

    return run


def make_request(place: Path, script: str, **options: object) -> ExecutionRequest:
    of_request = {key: options.pop(key) for key in ("keep", "environment", "writable_data", "out") if key in options}
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
def run_isolated(bubblewrap: BubblewrapSandbox, place: Path) -> Run:
    """Run a script under bubblewrap."""
    return runner(bubblewrap, place)
