"""The smaller set of attacks, made by a bot that an ordinary user has started."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from sandbox.image.engine import engine_address
from tests import needs
from tests.hostile.attack import BACK_ENDS, BackEnd
from tests.hostile.suite import ATTACKS
from tests.sandbox.other_user import copy_code, open_folder, python_of

pytestmark = pytest.mark.integration

USER = 12345
OURS = ("bot", "sandbox", "scrapers", "state", "tests")


@pytest.mark.parametrize(
    "back_end",
    [pytest.param(name, marks=pytest.mark.trial if name == "docker" else ()) for name in BACK_ENDS],
    indirect=True,
)
def test_the_limits_hold_when_an_ordinary_user_starts_the_bot(back_end: BackEnd) -> None:
    needs.root()
    user = ["setpriv", f"--reuid={USER}", f"--regid={USER}", *_groups(back_end), "env"]
    command = [*user, python_of(user), "-m", "tests.hostile.as_user", back_end]
    with open_folder() as folder:
        copy_code(OURS, {"docker", "nvidia-ml-py", "psutil", "pydantic", "pyseccomp", "sqlmodel"}, folder / "code")
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
            [*command, str(folder)],
            env=environment,
            capture_output=True,
            text=True,
            cwd=folder,
            timeout=480,
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
