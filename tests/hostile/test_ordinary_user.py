"""The smaller set of attacks, made by a bot that an ordinary user has started."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.image.engine import engine_address
from tests import needs
from tests.hostile.attack import BACK_ENDS, BackEnd
from tests.hostile.suite import ATTACKS
from tests.sandbox.test_ordinary_user import copy_distributions
from tests.source_tree import ROOT

pytestmark = pytest.mark.integration

USER = 12345
OURS = ("bot", "sandbox", "scrapers", "state", "tests")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder for another user: pytest's own are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="bot-test-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize(
    "back_end",
    [pytest.param(name, marks=pytest.mark.trial if name == "docker" else ()) for name in BACK_ENDS],
    indirect=True,
)
def test_the_limits_hold_when_an_ordinary_user_starts_the_bot(back_end: BackEnd, folder: Path) -> None:
    needs.root()
    user = ["setpriv", f"--reuid={USER}", f"--regid={USER}", *_groups(back_end), "env"]
    python = _python(user)
    for name in OURS:
        shutil.copytree(ROOT / name, folder / "code" / name, ignore=shutil.ignore_patterns("__pycache__"))
    copy_distributions({"docker", "nvidia-ml-py", "psutil", "pydantic", "pyseccomp", "sqlmodel"}, folder / "code")
    (folder / "home").mkdir()
    for path in (folder, *folder.rglob("*")):
        os.chown(path, USER, USER)
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(folder / "code"),
        "HOME": str(folder / "home"),
        "DOCKER_HOST": engine_address(),
    }
    done = subprocess.run(
        [*user, python, "-m", "tests.hostile.as_user", back_end, str(folder)],
        env=environment,
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    problems = json.loads(done.stdout)
    assert sorted(problems) == sorted(attack.name for attack in ATTACKS if attack.reduced)
    assert {name: found for name, found in problems.items() if found} == {}


def _groups(back_end: BackEnd) -> list[str]:
    """Return the groups that the user is in: for Docker that of the engine's socket, which is all that it takes."""
    if back_end == "bubblewrap":
        return ["--clear-groups"]
    socket = Path(engine_address().removeprefix("unix://"))
    if not socket.exists():
        needs.missing("the Docker engine has no socket that another user could reach")
    return [f"--groups={socket.stat().st_gid}"]


def _python(user: list[str]) -> str:
    """Return a Python that the user can start: ours may lie in root's home."""
    for python in (sys.executable, "/usr/bin/python3"):
        command = [*user, python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
        if shutil.which(python) and subprocess.run(command, capture_output=True, check=False).returncode == 0:
            return python
    needs.missing("no Python 3.11 or later here that another user may start")
