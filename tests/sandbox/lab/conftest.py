"""What the tests of labs share: a small competition, and a lab in which one types commands."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.execution import LocalSandbox
from sandbox.lab import CommandResult, LabHandle, LabLimits, LabRequest

MB = 1024**2


class Shell:
    """A lab in which commands are typed one after the other."""

    def __init__(self, lab: LabHandle, request: LabRequest) -> None:
        self.lab = lab
        self.request = request
        self.number = 0

    @property
    def work(self) -> Path:
        """Its working folder on the host."""
        return self.request.folder / "work"

    @property
    def log(self) -> str:
        """The log of the last command."""
        return (self.request.folder / "logs" / f"{self.number}.txt").read_text()

    async def type(self, command: str, seconds: float = 30.0, cpus: tuple[int, ...] = ()) -> CommandResult:
        self.number += 1
        return await self.lab.run(self.number, command, seconds=seconds, cpus=cpus)

    async def prints(self, command: str) -> str:
        """Return what a command prints that must end well."""
        result = await self.type(command)
        assert (result.exit_code, result.notice) == (0, None), result
        return result.output.strip()


@pytest.fixture
def lab_request(tmp_path: Path) -> LabRequest:
    """A lab with data, a task and weights, under small limits."""
    for name in ("data", "weights", "community"):
        (tmp_path / name).mkdir()
    (tmp_path / "data" / "train.csv").write_text("id,x\n1,2\n")
    (tmp_path / "labels.csv").write_text("id,y\n1,LABEL\n")
    (tmp_path / "task.md").write_text("Predict y.\n")
    mounts = {name: tmp_path / name for name in ("data", "weights", "community")}
    (tmp_path / "labs").mkdir(mode=0o700)
    return LabRequest(
        "lab1",
        tmp_path / "labs" / "lab1",
        {**mounts, "TASK.md": tmp_path / "task.md"},
        LabLimits(memory_bytes=256 * MB, disk_bytes=20 * MB, tasks=64),
    )


@pytest.fixture
async def shell(isolated: LocalSandbox, lab_request: LabRequest) -> AsyncIterator[Shell]:
    """A lab in each back end that isolates."""
    async with isolated.open_lab(lab_request) as lab:
        yield Shell(lab, lab_request)


@pytest.fixture
async def contained(bubblewrap: BubblewrapSandbox, lab_request: LabRequest) -> AsyncIterator[Shell]:
    """A lab under bubblewrap."""
    async with bubblewrap.open_lab(lab_request) as lab:
        yield Shell(lab, lab_request)


def cores() -> list[int]:
    return sorted(os.sched_getaffinity(0))
