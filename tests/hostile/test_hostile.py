"""Every attack in every back end, some of them as an ordinary user; and that each reaches what it reaches for."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from sandbox.image.engine import engine_address
from sandbox.process import ProcessSandbox
from tests import needs
from tests.hostile.attack import BACK_ENDS, Attack, BackEnd, answers_in
from tests.hostile.conftest import sandbox_for
from tests.hostile.suite import ATTACKS
from tests.hostile.trial import make, run
from tests.hostile.world import World
from tests.sandbox.other_user import copy_code, open_folder, python_of

pytestmark = pytest.mark.integration


EVERYWHERE = [
    pytest.param(attack, name, marks=pytest.mark.trial if attack.at_server and name == "docker" else ())
    for name in BACK_ENDS
    for attack in ATTACKS
]


@pytest.mark.parametrize(
    ("attack", "back_end"), EVERYWHERE, indirect=["back_end"], ids=lambda value: getattr(value, "name", value)
)
def test_an_attack_is_contained_and_leaves_the_host_as_it_was(attack: Attack, back_end: BackEnd, world: World) -> None:
    problems = make(attack, sandbox_for(back_end), back_end, world)
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("attack", [attack for attack in ATTACKS if attack.open], ids=lambda attack: attack.name)
def test_without_a_sandbox_the_same_script_gets_what_it_reaches_for(attack: Attack, world_of_its_own: World) -> None:
    outcome = run(attack, ProcessSandbox(), world_of_its_own, world_of_its_own.place / "out")
    said = answers_in(outcome.output)
    missed = [thing for thing in attack.open if said.get(thing) not in {"got", "found"}]
    assert not missed, said


def test_the_planted_sockets_notice_visitors(world_of_its_own: World) -> None:
    attack = next(attack for attack in ATTACKS if attack.name == "loopback")
    run(attack, ProcessSandbox(), world_of_its_own, world_of_its_own.place / "out")
    assert {"tcp", "udp"} <= set(world_of_its_own.visitors())


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
