"""Other processes that use a database: a program that runs to its end, and one that holds on until released."""

import json
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any


def run_program(text: str, *arguments: object, under: Sequence[str] = ()) -> dict[str, Any]:
    """Run a program in a process of its own, `under` a command if there is one, and return the JSON that it prints."""
    command = [*under, sys.executable, "-c", textwrap.dedent(text), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    printed: dict[str, Any] = json.loads(done.stdout)
    return printed


@contextmanager
def holding_on(text: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Run a program that prints a line when it is ready, and then waits until its input is closed."""
    command = [sys.executable, "-c", textwrap.dedent(text), *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline().strip() == "ready"
        try:
            yield process
        finally:
            process.stdin.close()
            process.wait(60)
