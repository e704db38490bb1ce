"""The smaller set of attacks, made by a bot that an ordinary user has started."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import needs
from tests.hostile.attack import BackEnd
from tests.hostile.suite import ATTACKS
from tests.source_tree import ROOT

pytestmark = pytest.mark.integration

USER = 12345
OURS = ("sandbox", "state", "tests")
FOREIGN = {
    "bubblewrap": ("psutil", "pyseccomp"),
    "docker": ("psutil", "pyseccomp", "docker", "requests", "urllib3", "idna", "certifi", "charset_normalizer"),
}


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder for another user: pytest's own are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="bot-test-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def test_the_limits_hold_when_an_ordinary_user_starts_the_bot(back_end: BackEnd, folder: Path) -> None:
    needs.root()
    user = ["setpriv", f"--reuid={USER}", f"--regid={USER}", *_groups(back_end), "env"]
    python = _python(user)
    _copy_code(folder / "code", FOREIGN[back_end])
    (folder / "home").mkdir()
    for path in (folder, *folder.rglob("*")):
        os.chown(path, USER, USER)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(folder / "code"), "HOME": str(folder / "home")}
    if host := os.environ.get("DOCKER_HOST"):
        environment["DOCKER_HOST"] = host
    done = subprocess.run(
        [*user, python, "-m", "tests.hostile.as_user", back_end, str(folder), needs.SMALL_IMAGE],
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
    socket = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")
    if not Path(socket).exists():
        needs.missing("the Docker engine has no socket that another user could reach")
    return [f"--groups={Path(socket).stat().st_gid}"]


def _python(user: list[str]) -> str:
    """Return a Python that the user can start: ours may lie in root's home."""
    for python in (sys.executable, "/usr/bin/python3"):
        command = [*user, python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
        if shutil.which(python) and subprocess.run(command, capture_output=True, check=False).returncode == 0:
            return python
    needs.missing("no Python 3.11 or later here that another user may start")


def _copy_code(code: Path, foreign: tuple[str, ...]) -> None:
    """Copy our packages, and others that they need, to where the user can read them."""
    for name in OURS:
        shutil.copytree(ROOT / name, code / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in foreign:
        spec = importlib.util.find_spec(name)
        assert spec is not None and spec.origin is not None
        origin = Path(spec.origin)
        if origin.name == "__init__.py":
            shutil.copytree(origin.parent, code / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(origin, code)
