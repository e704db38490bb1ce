"""Sandbox: where generated code runs, what it may use, and what came of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal, Protocol

__all__ = ["ExecutionRequest", "ExitReason", "Limits", "Outcome", "Sandbox", "SandboxDescription"]

Isolation = Literal["docker", "bubblewrap", "none"]


class ExitReason(StrEnum):
    """Why an execution ended."""

    FINISHED = "finished"
    ERROR = "error"
    TIMED_OUT = "timed_out"
    OUT_OF_MEMORY = "out_of_memory"
    PROCESS_LIMIT = "process_limit"
    DISK_LIMIT = "disk_limit"
    STOPPED = "stopped"
    """Ended because the bot itself was asked to stop."""
    INFRASTRUCTURE = "infrastructure"
    """The engine's own failure; `Outcome.detail` says what; never the code's fault."""


@dataclass(frozen=True)
class Limits:
    """What one execution may use; the defaults are the documented ones of one execution."""

    seconds: float
    memory_bytes: int = 4 * 1024**3
    """Of the whole process tree, tmpfs included."""
    processes: int = 256
    written_bytes: int = 2 * 1000**3
    files: int = 50_000
    output_bytes: int = 1_000_000
    """Of the log that is kept: its first and last part."""
    cpus: int = 2


@dataclass(frozen=True)
class ExecutionRequest:
    """One run of a script on one view: pure data, so that a retry or another machine may take it."""

    execution_id: str
    """Unique, letters, digits, dot, underscore and minus."""
    script: str
    """Source of the Python script; it starts in an empty folder with `data/` beside it."""
    view: Path
    """Folder mounted read-only as `data`."""
    out: Path
    """Folder on the host that receives the kept files and `log.txt`; made if absent."""
    limits: Limits
    environment: Mapping[str, str] = field(default_factory=dict)
    """Added to the sandbox's own clean environment (BOT_TIME_LIMIT, BOT_CPUS, ... are set by the sandbox)."""
    keep: tuple[str, ...] = ("submission.csv", "validation_predictions.csv")
    """Names in the working folder that are copied to `out` afterwards, if they are plain files."""
    writable_data: bool = False


@dataclass(frozen=True)
class Outcome:
    """What came of an execution."""

    reason: ExitReason
    exit_code: int | None
    seconds: float
    """Wall time of the code alone."""
    cpu_seconds: float | None
    peak_memory_bytes: int | None
    output: str
    """stdout and stderr, interleaved, decoded, capped at `output_bytes` (the middle is cut, and it says so)."""
    kept: Mapping[str, Path]
    """Name to path for each kept file that was really written in this execution."""
    detail: str | None = None
    """A sentence on a limit that was hit or on the engine's failure."""
    notes: tuple[str, ...] = ()
    """Oddities, such as a kept name that was a link, or a child that ran out of memory."""


@dataclass(frozen=True)
class SandboxDescription:
    """What a back end contains and what it cannot."""

    name: Literal["docker", "bubblewrap", "process"]
    isolation: Isolation
    contains: tuple[str, ...]
    gaps: tuple[str, ...]


class Sandbox(Protocol):
    """Runs scripts under limits."""

    async def run(self, request: ExecutionRequest) -> Outcome:
        """Run the script to its end or a limit, with every descendant gone afterwards.

        Never raises for what the code does. Cancelling the task kills the code and re-raises. The engine's own
        failure is an outcome with the reason INFRASTRUCTURE. Nothing is promised about files beyond `keep`.
        """
        ...

    def describe(self) -> SandboxDescription:
        """Say what this back end contains, and its gaps."""
        ...
