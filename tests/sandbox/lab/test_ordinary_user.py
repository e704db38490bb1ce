"""A test that a lab under bubblewrap holds as well when an ordinary user opens it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from sandbox.bubblewrap import BubblewrapSandbox
from tests import needs
from tests.sandbox.lab.test_life import running
from tests.sandbox.test_ordinary_user import NOBODY, _as_nobody, _python, copy_distributions, place  # noqa: F401 - a fixture
from tests.source_tree import ROOT

PROGRAM = """
import asyncio, os, sys
from pathlib import Path
from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.lab import LabLimits, LabRequest

place = Path(sys.argv[1])
request = LabRequest("lab1", place / "lab1", {"data": place / "view"}, LabLimits(2**28, 10**7, tasks=40))

async def main():
    core = min(os.sched_getaffinity(0))
    for opening in (1, 2):
        async with BubblewrapSandbox().open_lab(request) as lab:
            for number, command in enumerate(COMMANDS[opening - 1], 10 * opening):
                result = await lab.run(number, command, seconds=3, cpus=[core])
                print(number, result.exit_code, result.timed_out, result.ended, result.jobs, result.output.split(), flush=True)
    print("closed")

COMMANDS = (
    (
        "cat data/train.csv; touch data/x 2>/dev/null || echo refused; setsid sleep 43210 & sleep 0.1",
        "pwd; nproc; taskset -p fff $$ >/dev/null; nproc; grep -c planted /proc/*/environ 2>/dev/null | grep -v :0",
        "sleep 43210",
        "for i in $(seq 50); do sleep 43210 & done; sleep 9",
        "head -c 9000000 /dev/urandom >b; head -c 9000000 /dev/urandom >c; sleep 9",
        "rm b c; echo kept >/lab/work/kept; ls /lab/work",
        "python3 -c 'import os; os.fork(); os.fork(); x = bytearray(b\\"x\\") * 120_000_000; import time; time.sleep(9)'",
        "kill -9 -1",
    ),
    ("cat kept; setsid sleep 43210 & sleep 0.1",),
)
asyncio.run(main())
"""


@pytest.mark.integration
def test_an_ordinary_users_lab_holds_as_well(bubblewrap: BubblewrapSandbox, place: Path) -> None:  # noqa: F811
    needs.root()
    for package in ("sandbox", "state"):
        shutil.copytree(ROOT / package, place / "code" / package, ignore=shutil.ignore_patterns("__pycache__"))
    copy_distributions({"docker", "psutil", "pydantic", "pyseccomp", "nvidia-ml-py"}, place / "code")
    (place / "view").mkdir()
    (place / "view" / "train.csv").write_text("id,x\n")
    for path in (place, *place.rglob("*")):
        os.chown(path, int(NOBODY), int(NOBODY))
    done = subprocess.run(
        [*_as_nobody(), _python(), "-c", PROGRAM, str(place)],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(place / "code"), "KEY": "planted-secret"},
        capture_output=True,
        text=True,
        cwd="/",
        timeout=120,
        check=False,
    )
    disk = "It wrote more than 10000000 bytes of files. All processes of the lab were ended."
    disk += " Until less lies in /lab/work, no file can be made larger than 1000000 bytes."
    lines = done.stdout.splitlines()
    assert lines[:6] == [
        "10 0 False None 1 ['id,x', 'refused']",
        "11 1 False None 1 ['/lab/work', '1', '1']",
        "12 None True None 1 []",
        "13 None False It ran more than 40 processes and threads at once. All processes of the lab were ended. 0 []",
        f"14 None False {disk} 0 []",
        "15 0 False None 0 ['data', 'kept']",
    ], done.stderr
    assert lines[6].startswith("16 None False It held ")
    assert lines[7].startswith("17 None False The lab's sandbox ended")
    assert lines[8:] == ["20 0 False None 1 ['kept']", "closed"]
    assert running("sleep 43210") == []
