"""How long each command takes to its first output, in seconds of an idle machine: `python -m tests.bench.bench_surface`.

`bot --help` is to answer within .2 s, every other command to print its first line within .6 s. On a busy machine the time of
the processor, which is printed beside it, says more.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from scrapers.snapshots.demo import write_demo
from tests.bot.status import parts

_HELP, _OTHER = 0.2, 0.6
_TIMES = 3
_TOML = f'[daemon]\ndir = "state"\n\n[competitions.{parts.SPOOKY}]\nsubmit = true\n'
_COMMANDS = (
    *("--help", "replay --help", "solve --help", "replay missing", "solve missing", "resume missing", "bench missing"),
    *(
        "replay demo --time 2m --plain",
        "solve demo/data --time 2m --plain",
        "snapshot check demo",
        "grade demo missing",
    ),
    *("status", f"status {parts.SPOOKY}", "approve", "submissions", "logs", "ideas", "reports", "config show"),
    *("run --config missing.toml", "doctor", "web --address", "rehearse missing", "keys list", "prune --help"),
    *(
        "init --help",
        "env list",
        "coder check missing",
        "weights list",
        "knowledge list",
        "notify test",
        "service status",
        "rehearse demo --port 0",
    ),
)


def first_output(folder: Path, command: str) -> tuple[float, float]:
    """Return the seconds until a command printed something or ended, and those of the processor until then."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "bot", *command.split()],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "HOME": str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdout is not None
    process.stdout.read(1)
    seconds = time.monotonic() - begun
    process.kill()
    process.communicate()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print a line for each command."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        write_demo(folder / "demo")
        parts.busy(folder / "state")
        (folder / "bot.toml").write_text(_TOML, encoding="utf-8")
        for command in _COMMANDS:
            seconds, cpu = min(first_output(folder, command) for _ in range(_TIMES))
            most = _HELP if command == "--help" else _OTHER
            print(f"{seconds:6.2f} s  {cpu:6.2f} s of processor  {'' if seconds <= most else 'SLOW':4}  bot {command}")


if __name__ == "__main__":
    main()
