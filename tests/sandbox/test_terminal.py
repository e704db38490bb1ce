"""A test that a script has no terminal, though the bot has one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.bubblewrap import BubblewrapSandbox

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
