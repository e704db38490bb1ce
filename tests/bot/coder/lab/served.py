"""A lab's server with a handler that remembers, and the real command `lab` against it."""

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bot.coder.lab.calls import LabAnswer, LabCall

CLIENT = Path(__file__).parents[4] / "sandbox" / "lab" / "client"


@dataclass
class Remembering:
    """Answers each call with the same words, once it may."""

    answer: LabAnswer = field(default_factory=lambda: LabAnswer(0, "noted"))
    news: list[str] = field(default_factory=list)
    calls: list[LabCall] = field(default_factory=list)
    """Those that it has begun."""
    files: list[dict[str, bytes]] = field(default_factory=list)
    """What the files of each call held, arrays by role and sources by name."""
    running: int = 0
    cancelled: int = 0
    may: asyncio.Event = field(default_factory=asyncio.Event)
    """Whether it answers, or lets the callers wait."""
    came: asyncio.Condition = field(default_factory=asyncio.Condition)

    def __post_init__(self) -> None:
        self.may.set()

    async def __call__(self, call: LabCall) -> LabAnswer:
        self.calls.append(call)
        self.files.append({name: path.read_bytes() for name, path in (*call.files.items(), *call.sources.items())})
        self.running += 1
        async with self.came:
            self.came.notify_all()
        try:
            await self.may.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running -= 1
        return self.answer

    async def begun(self, calls: int) -> None:
        """Wait until so many calls have come."""
        async with asyncio.timeout(20), self.came:
            await self.came.wait_for(lambda: len(self.calls) >= calls)


@dataclass(frozen=True)
class Ended:
    """What the command left."""

    status: int
    out: str
    err: str


async def lab(
    socket: Path, *arguments: str, stdin: bytes | None = None, python: str = sys.executable, folder: Path | None = None
) -> Ended:
    """Run the command to its end, in a folder."""
    process = await start(
        socket, *arguments, stdin=PIPE if stdin is not None else DEVNULL, python=python, folder=folder
    )
    return await ended(process, stdin)


async def ended(process: asyncio.subprocess.Process, stdin: bytes | None = None) -> Ended:
    """Wait for the end of a process."""
    async with asyncio.timeout(60):
        out, err = await process.communicate(stdin)
    return Ended(process.returncode or 0, out.decode(), err.decode())


async def start(
    socket: Path, *arguments: str, stdin: int = DEVNULL, python: str = sys.executable, folder: Path | None = None
) -> asyncio.subprocess.Process:
    """Start the command."""
    environment: Mapping[str, str] = {**os.environ, "LAB_SOCKET": str(socket)}
    return await asyncio.create_subprocess_exec(
        python, "-I", str(CLIENT), *arguments, stdin=stdin, stdout=PIPE, stderr=PIPE, env=environment, cwd=folder
    )
