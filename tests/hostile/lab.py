"""A lab to be attacked, with the engine's end of its socket in a process of its own, and how both fare.

`python -m tests.hostile.lab SOCKET` serves until its stdin ends.
"""

import asyncio
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil

from sandbox import ExecutionOutcome, ExitReason, Limits, Sandbox
from sandbox.collect import collect
from sandbox.lab import LabLimits, LabRequest
from sandbox.lab.lab_archive import KEPT_BYTES, tidy_work
from tests.hostile.attack import Attack
from tests.hostile.world import World
from tests.source_tree import ROOT

CLIENT = ROOT / "sandbox" / "lab" / "client"
DESCRIPTORS = 28
"""That the server has open at the most: 16 connections, four files that are handed over, one that it writes, and Python's 7."""
MEMORY = 60_000_000
"""Bytes by which it may grow."""
LEFT = {"socket", "taken", "work", "logs", "code"}
"""What lies in its folder when it has ended."""
_ATTACK = "python3 attack.py; code=$?; cd odd* 2>/dev/null; exit $code"
"""It may end in a folder that the attack has made."""
_HONEST = "cd /lab/work && lab status | cut -c1-6 && cat data/train.csv"
_PATIENCE = 60.0
"""Seconds that an honest client waits at the most."""


@dataclass
class LabEnd:
    """A server of the lab's socket, and honest clients of it."""

    folder: Path
    answers: list[tuple[int, float]] = field(default_factory=list)
    """Exit status of each honest command, and the seconds it took."""
    descriptors: int = 0
    memory: int = 0
    """Bytes by which it grew."""
    end: dict[str, int] = field(default_factory=dict)
    """What it said when it ended."""
    said: str = ""
    """What it had to complain about."""

    @property
    def taken(self) -> str:
        """All that came through to the handler, as lines of JSON."""
        return (self.folder / "taken").read_text(encoding="utf-8")

    def problems(self) -> Iterator[str]:
        """Yield what is not as it must be, once it has ended."""
        if self.descriptors > DESCRIPTORS:
            yield f"the server had {self.descriptors} descriptors open"
        if self.memory > MEMORY:
            yield f"the server grew by {self.memory} bytes"
        if self.end != {"faults": 0, "news": min(20, self.end.get("news", -1)), "left": 0} or self.said:
            yield f"the server ended as {self.end}, and said {self.said[-1500:]}"
        if not self.answers or any(status != 0 or seconds > _PATIENCE for status, seconds in self.answers):
            yield f"honest clients got {self.answers}"
        for line in self.taken.splitlines():
            taken = json.loads(line)
            texts = [
                text for value in taken.values() for text in (value if isinstance(value, list | dict) else [value])
            ]
            texts = [text for text in texts if isinstance(text, str)]
            odd = any(len(text) > 2100 or not text.replace("\n", "").isprintable() for text in texts)
            names = [
                taken.get("name", "x"),
                taken.get("compare_to", ""),
                *taken.get("uses", []),
                *taken.get("sizes", []),
            ]
            if odd or any(name.startswith(("/", ".")) or "/." in name or "\n" in name for name in names):
                yield f"the handler got {line[:500]}"

    def ask(self) -> None:
        """Ask as an honest client does."""
        begin = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-I", str(CLIENT), "status"],
            env={"LAB_SOCKET": str(self.folder / "socket" / "socket")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=2 * _PATIENCE,
            check=False,
        )
        self.answers.append((done.returncode, round(time.monotonic() - begin, 1)))


async def typed(
    attack: Attack, sandbox: Sandbox, world: World, folder: Path, limits: Limits
) -> tuple[ExecutionOutcome, list[str]]:
    """Make an attack as a command of a lab; return what came of it, and what is not as it must be afterwards.

    A lab that the attack has ended is opened again. Whatever was done in it, an honest command works then, and the engine
    can take from its work what it takes.
    """
    request = LabRequest(
        f"hostile-{attack.name}",
        folder,
        {"data": world.view},
        LabLimits(limits.memory_bytes, limits.written_bytes, limits.processes, limits.output_bytes),
        environment={"HINTS": json.dumps(world.hints)},
    )
    (folder / "work").mkdir()
    (folder / "work" / "attack.py").write_text(attack.source())
    core = [min(os.sched_getaffinity(0))]
    async with sandbox.open_lab(request) as lab:
        result = await lab.run(1, _ATTACK, seconds=limits.seconds, cpus=core)
        after = await lab.run(2, _HONEST, seconds=30, cpus=core) if lab.alive else None
        alive = lab.alive
    if after is None or not alive:
        async with sandbox.open_lab(request) as lab:
            after = await lab.run(3, _HONEST, seconds=30, cpus=core)
    problems = [] if after.output.endswith("answer\nid,x,y\n1,2,3\n") else [f"an honest command then got {after}"]
    problems += _left_behind(folder / "work", world.token)
    reason = ExitReason.TIMED_OUT if result.timed_out else ExitReason.ERROR
    log = (folder / "logs" / "1.txt").read_text(encoding="utf-8", errors="replace")
    if world.token in log:
        problems.append("a secret came out in a log")
    outcome = ExecutionOutcome(
        ExitReason.FINISHED if result.exit_code == 0 else reason,
        result.exit_code,
        result.seconds,
        None,
        None,
        log,
        {},
        " ".join(filter(None, (result.notice, after.notice))) or None,
    )
    return outcome, problems


def _left_behind(work: Path, token: str) -> Iterator[str]:
    """Take from a closed lab's work what the engine takes, and yield what is wrong with it."""
    with tempfile.TemporaryDirectory() as kept:
        for path in collect(work, ["solution.py"], Path(kept)).files.values():
            if token in path.read_text(errors="replace"):
                yield "a secret was taken for a script"
    tidy_work(work)
    files = [path for path in work.rglob("*") if path.is_symlink() or not path.is_dir()]
    if any(not stat.S_ISREG(path.lstat().st_mode) for path in files):
        yield "something was kept that is no file"
    if (size := sum(path.lstat().st_size for path in files)) > KEPT_BYTES:
        yield f"{size} bytes were kept"


@contextmanager
def serve_lab(folder: Path) -> Iterator[LabEnd]:
    """Serve a lab's socket in this folder, which is made anew, with honest clients that ask all the while."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    lab, over = LabEnd(folder), threading.Event()
    process = subprocess.Popen(
        [sys.executable, "-W", "default", "-m", "tests.hostile.lab", str(folder / "socket" / "socket")],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    threads = [threading.Thread(target=_watch, args=(lab, process.pid, over))]
    threads += [threading.Thread(target=_ask, args=(lab, over))]
    try:
        if process.stdout.readline() != "ready\n":
            raise AssertionError(process.communicate()[1])
        for thread in threads:
            thread.start()
        yield lab
    finally:
        over.set()
        for thread in threads:
            if thread.is_alive():
                thread.join()
        try:
            out, lab.said = process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            out, lab.said = process.communicate()
    lab.end = json.loads(out or "{}")


def _ask(lab: LabEnd, over: threading.Event) -> None:
    while not over.wait(0.5):
        lab.ask()
    lab.ask()


def _watch(lab: LabEnd, pid: int, over: threading.Event) -> None:
    process = psutil.Process(pid)
    idle = process.memory_info().rss
    while not over.wait(0.01):
        lab.descriptors = max(lab.descriptors, process.num_fds())
        lab.memory = max(lab.memory, process.memory_info().rss - idle)


async def main(socket: Path) -> None:
    """Serve until stdin ends, and print how it went."""
    from bot.coder.lab.calls import SCRIPT, BoardCommand, LabAnswer, LabCall, ScoreCommand
    from bot.coder.lab.server import LabServer

    faults: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(str(context)))

    class Writing:
        """Writes down what it gets; a score takes a while."""

        def __init__(self) -> None:
            self.news: list[str] = []
            self.calls = 0

        async def __call__(self, call: LabCall) -> LabAnswer:
            self.calls += 1
            sizes = {name: path.stat().st_size for name, path in (*call.files.items(), *call.sources.items())}
            with (socket.parent.parent / "taken").open("a", encoding="utf-8") as file:
                script = (call.text(SCRIPT) or "")[:2000]
                file.write(json.dumps({**asdict(call.arguments), "script": script, "sizes": sizes}) + "\n")
            if isinstance(call.arguments, ScoreCommand):
                await asyncio.sleep(2)
            return LabAnswer(0, "x" * 150_000 if isinstance(call.arguments, BoardCommand) else f"answer {self.calls}")

    handler = Writing()
    async with LabServer(socket, handler):
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.read)
    left = len([path for path in socket.parent.parent.iterdir() if path.name not in LEFT])
    print(
        json.dumps({"faults": len(faults), "news": len(handler.news), "left": left + len([*socket.parent.iterdir()])})
    )
    print(*faults, sep="\n", end="", file=sys.stderr)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
