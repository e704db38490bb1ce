"""A test that bubblewrap isolates as well when an ordinary user starts it."""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import psutil
import pytest
from packaging.requirements import Requirement

from sandbox.bubblewrap import BubblewrapSandbox
from tests import needs

NOBODY = "65534"
PROGRAM = """
import asyncio, sys
from pathlib import Path
from sandbox import ExecutionRequest, Limits
from sandbox.bubblewrap import BubblewrapSandbox

place = Path(sys.argv[1])
sandbox = BubblewrapSandbox()
assert sandbox.problem() is None, sandbox.problem()

def run(name, idle=False, **limits):
    limits = {"seconds": 20.0, "memory_bytes": 2**28, **limits}
    script = (place / name).read_text()
    request = ExecutionRequest(name, script, place / "view", place / "out" / name, Limits(**limits), idle=idle)
    outcome = asyncio.run(sandbox.run(request))
    print(name, outcome.reason, outcome.detail, sorted(outcome.kept), outcome.output.split())

run("holes.py")
run("bomb.py", processes=30)
run("daemon.py", seconds=1)
run("locked.py", written_bytes=10_000_000)
run("idle.py", idle=True)
"""
SCRIPTS = {
    "holes.py": """
import ctypes, glob, os
libc = ctypes.CDLL(None, use_errno=True)
print("".join(open(path).read() for path in glob.glob("/proc/*/environ")).count("planted"))
print(os.path.exists("/etc/shadow"), os.access("/proc/sys/kernel/core_pattern", os.W_OK), os.listdir("data"))
print(libc.syscall(272, 0x10000000), ctypes.get_errno())
for folder in ("/", "/dev", "/solution", "data"):
    try:
        open(folder + "/probe", "w")
        print("wrote", folder)
    except OSError:
        pass
open("submission.csv", "w").write("x")
""",
    "bomb.py": """
import os, time
for i in range(200):
    try:
        if os.fork() == 0:
            time.sleep(99)
    except BlockingIOError:
        print("refused", flush=True)
        break
time.sleep(99)
""",
    "daemon.py": """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(99) # left-by-nobody"])
    os._exit(0)
time.sleep(99)
""",
    "locked.py": """
import os, time
os.mkdir("hidden")
os.chmod("hidden", 0o300)
for i in range(5):
    open(f"hidden/{i}", "wb").write(bytes(5_000_000))
time.sleep(99)
""",
    "idle.py": """
import os
try:
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    open("/proc/self/autogroup", "w").write("0")
except OSError:
    weighed = os.path.exists("/proc/self/autogroup")
    print(os.sched_getscheduler(0), open("/proc/self/autogroup").read().split()[-1] if weighed else 19)
""",
}


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder for another user: pytest's own are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="bot-test-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def _python() -> str:
    """Return a Python that another user can start: ours may lie in root's home."""
    for python in (sys.executable, "/usr/bin/python3"):
        command = [*_as_nobody(), python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
        if shutil.which(python) and subprocess.run(command, capture_output=True, check=False).returncode == 0:
            return python
    needs.missing("no Python 3.11 or later here that another user may start")


def _as_nobody() -> list[str]:
    # By way of env: setpriv itself could still start what nobody may not reach.
    return ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "env"]


def copy_distributions(names: set[str], folder: Path) -> None:
    """Copy these distributions with all that they need to where another user can read them."""
    known: set[str] = set()
    while names:
        name = names.pop()
        known.add(name)
        found = metadata.distribution(name)
        wanted = [Requirement(text) for text in found.requires or ()]
        names |= {one.name for one in wanted if one.marker is None or one.marker.evaluate({"extra": ""})} - known
        for file in found.files or ():
            if ".." not in file.parts and file.suffix != ".pyc":
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(str(file.locate()), folder / file)


@pytest.mark.integration
def test_an_ordinary_user_is_isolated_as_well(bubblewrap: BubblewrapSandbox, place: Path) -> None:
    needs.root()
    if platform.machine() != "x86_64":
        pytest.skip("the numbers of system calls here are those of x86_64")
    python = _python()
    root = Path(__file__).parents[2]
    for package in ("sandbox", "state"):
        shutil.copytree(root / package, place / "code" / package, ignore=shutil.ignore_patterns("__pycache__"))
    copy_distributions({"psutil", "pydantic", "pyseccomp"}, place / "code")
    (place / "view").mkdir()
    (place / "program.py").write_text(PROGRAM)
    for name, script in SCRIPTS.items():
        (place / name).write_text(script)
    for path in (place, *place.rglob("*")):
        os.chown(path, int(NOBODY), int(NOBODY))
    done = subprocess.run(
        [*_as_nobody(), python, str(place / "program.py"), str(place)],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(place / "code"), "KEY": "planted-secret"},
        capture_output=True,
        text=True,
        cwd="/",
        timeout=120,
        check=False,
    )
    assert done.stdout.splitlines() == [
        "holes.py finished None ['submission.csv'] ['0', 'False', 'False', '[]', '-1', '1']",
        "bomb.py process_limit It ran more than 30 processes and threads at once. [] ['refused']",
        "daemon.py timed_out It was stopped after 1 seconds. [] []",
        "locked.py disk_limit It wrote more than 10000000 bytes of files. [] []",
        "idle.py finished None [] ['5', '19']",
    ], done.stderr
    commands = [" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])]
    assert not any("left-by-nobody" in command for command in commands)
