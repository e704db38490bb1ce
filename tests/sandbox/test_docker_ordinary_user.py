"""A test that containers hold as much when an ordinary user of the engine starts them."""

import os
import subprocess
from pathlib import Path

import pytest

from sandbox.image.engine import engine_address
from tests import needs
from tests.sandbox.other_user import copy_code, open_folder, python_of

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
