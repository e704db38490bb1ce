"""What a script must not reach, in a few seconds; tests/hostile tries each hole, in each back end that isolates."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox import ExecutionOutcome, ExitReason
from sandbox.bubblewrap import BubblewrapSandbox
from tests import needs
from tests.sandbox.conftest import Run


def printed(outcome: ExecutionOutcome) -> str:
    assert outcome.reason is ExitReason.FINISHED, outcome
    return outcome.output.strip()


async def test_labels_keys_the_network_and_the_view_are_out_of_reach(run_isolated, place, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "planted-secret")
    with socket.create_server(("127.0.0.1", 0)) as server:
        outcome = await run_isolated(
            f"""
            import glob, os, socket
            for act in (
                lambda: open({str(place / "labels.csv")!r}),
                lambda: open("data/train.csv", "a"),
                lambda: socket.create_connection(("127.0.0.1", {server.getsockname()[1]})),
            ):
                try:
                    print("reached", act())
                except OSError:
                    print("refused")
            for path in glob.glob("/proc/*/environ"):
                try:
                    print(open(path).read().count("planted-secret"))
                except PermissionError:
                    print(0)  # another user's
            """
        )
    lines = printed(outcome).splitlines()
    assert (lines[:3], set(lines[3:])) == (["refused"] * 3, {"0"})


async def test_root_has_no_namespace_that_could_hide_it_and_each_execution_a_user_of_its_own(run_bubblewrap) -> None:
    needs.root()
    script = "import os; print(open('/proc/self/uid_map').read().split(), '|', os.getuid(), os.getgroups())"
    shown = [printed(await run_bubblewrap(script)).split("|") for _ in range(2)]
    assert {mapping.strip() for mapping, _ in shown} == {str(Path("/proc/self/uid_map").read_text().split())}
    assert len({user for _, user in shown}) == 2
    assert all(int(user.split()[0]) >= 65534 for _, user in shown)


async def test_many_files_in_memory_are_too_many(run_isolated: Run) -> None:
    outcome = await run_isolated(
        "import os\nfor i in range(10**6): os.close(os.open(f'/tmp/{i}', os.O_CREAT | os.O_WRONLY))", files=2000
    )
    assert outcome.reason is ExitReason.DISK_LIMIT


PROGRAM = """
import asyncio, os, sys
from pathlib import Path
from sandbox import ExecutionRequest, Limits
from sandbox.bubblewrap import BubblewrapSandbox

os.close(os.open("/dev/tty", os.O_RDWR))
script = '''
import os
print([os.isatty(i) for i in range(3)])
try:
    os.open("/dev/tty", os.O_RDWR)
    print("a terminal")
except OSError:
    print("none")
'''
place = Path(sys.argv[1])
request = ExecutionRequest("tty", script, place / "view", place / "out", Limits(20))
print("OUTCOME", asyncio.run(BubblewrapSandbox().run(request)).output.split("\\n"))
"""


@pytest.mark.integration
def test_a_script_has_no_terminal_though_the_bot_has_one(bubblewrap: BubblewrapSandbox, place: Path) -> None:
    program = place / "program.py"
    program.write_text(PROGRAM)
    spawn = f"import pty; pty.spawn({[sys.executable, str(program), str(place)]!r})"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", spawn], capture_output=True, text=True, env=environment, timeout=60, check=True
    )
    assert "OUTCOME ['[False, False, False]', 'none', '']" in done.stdout
