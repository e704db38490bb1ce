"""Sandbox: where generated code runs, its limits, and its outcome."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from state.redaction import Redactor

BACK_ENDS = {
    "docker": "sandbox.docker:DockerSandbox",
    "bubblewrap": "sandbox.bubblewrap:BubblewrapSandbox",
    "process": "sandbox.process:ProcessSandbox",
}
"""The class of each back end by name, those that contain more first; a module is loaded when its back end is tried."""

if TYPE_CHECKING:
    from sandbox.lab import LabHandle, LabRequest

    BackEndChoice = str
else:
    # Settings and options offer the names above; a type checker does not accept a computed list.
    BackEndChoice = Literal[("auto", *BACK_ENDS)]


class ExitReason(StrEnum):
    """Why an execution ended."""

    FINISHED = "finished"
    ERROR = "error"
    TIMED_OUT = "timed_out"
    OUT_OF_MEMORY = "out_of_memory"
    GPU_OUT_OF_MEMORY = "gpu_out_of_memory"
    PROCESS_LIMIT = "process_limit"
    DISK_LIMIT = "disk_limit"
    KILLED_BY_RULE = "killed_by_rule"
    """A rule found it hopeless, such as a silent script; `ExecutionOutcome.detail` names the rule."""
    STOPPED = "stopped"
    """Ended because the bot itself was asked to stop."""
    INFRASTRUCTURE = "infrastructure"
    """The engine's own failure, described in `ExecutionOutcome.detail`; never the code's fault."""


@dataclass(frozen=True)
class Limits:
    """The limits of one execution."""

    seconds: float
    memory_bytes: int = 4 * 1024**3
    """Of the whole process tree, tmpfs included."""
    processes: int = 256
    written_bytes: int = 2 * 1000**3
    files: int = 50_000
    output_bytes: int = 1_000_000
    """Size of the kept log: its first and last part."""
    cpus: int = 2


@dataclass(frozen=True)
class Lease:
    """The cores and GPUs that belong to one execution alone while it runs."""

    cpus: tuple[int, ...] = ()
    """Numbers of cores; none: any of the machine's, as many as the limits allow."""
    gpus: tuple[str, ...] = ()
    """UUIDs of GPUs; none: it sees no GPU."""

    @property
    def lost(self) -> bool:
        """Whether its machine is lost, as a fleet's may be."""
        return False


_IDLE_PATIENCE = 20
"""An idle execution may last this many times its limit, as it often waits for the processor."""


@dataclass(frozen=True)
class ExecutionRequest:
    """One run of a script on one view: pure data, so that a retry or another machine can use it."""

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
    keep_folders: tuple[str, ...] = ()
    """Names of folders there that are copied as well, each whole or not at all: see `sandbox.collect.collect_folder`."""
    lease: Lease = Lease()
    mounts: Mapping[str, Path] = field(default_factory=dict)
    """Folders that the script finds read-only beside `data`, by name (such as `weights/resnet18`)."""
    inputs: Mapping[str, Path] = field(default_factory=dict)
    """Folders that the script finds read-only below `/kaggle/input`, by path there (such as `competitions/titanic`).

    If there are any it runs as a notebook on Kaggle does: it starts in `/kaggle/working`.
    """
    redactor: Redactor = field(default=Redactor(), compare=False, repr=False)
    """Removes the bot's own secrets, should the script get to know any, from its kept output."""
    idle: bool = False
    """Whether it gets only the processor time that nothing else wants; it may share its lease with commands of a lab.

    Its `limits.seconds` are then those of the processor, of all its processes (BOT_CPU_LIMIT).
    """

    @property
    def wall_seconds(self) -> float:
        """The longest time from its start to its end, pauses not counted (BOT_TIME_LIMIT)."""
        return self.limits.seconds * (_IDLE_PATIENCE if self.idle else 1)


@dataclass(frozen=True)
class ResourceUsage:
    """What a running execution has used so far; None if unknown."""

    seconds: float
    cpu_seconds: float | None = None
    memory_bytes: int | None = None
    written_bytes: int | None = None
    processes: int | None = None
    gpu_busy: float | None = None
    """Share of the time since the last measurement in which its GPUs worked, 0 to 1."""


@dataclass(frozen=True)
class Breach:
    """The reason why a running execution must end, and a sentence on it."""

    reason: ExitReason
    detail: str


class Watch(Protocol):
    """An observer of a running execution; called from the thread that supervises it, so it must never block."""

    def output(self, chunk: bytes) -> None:
        """Receive new output."""

    def usage(self, usage: ResourceUsage) -> Breach | None:
        """Receive a measurement, several times a second; returning a breach ends the execution with its reason."""


@dataclass(frozen=True)
class ExecutionOutcome:
    """The outcome of an execution."""

    reason: ExitReason
    exit_code: int | None
    seconds: float
    """Wall time of the code alone."""
    cpu_seconds: float | None
    peak_memory_bytes: int | None
    output: str
    """stdout and stderr, interleaved, decoded, capped at `output_bytes` (a note marks the cut in the middle)."""
    files: Mapping[str, Path]
    """Name to path for each kept file that was really written in this execution."""
    detail: str | None = None
    """A sentence on a limit that was hit or on the engine's failure."""
    peak_gpu_memory_bytes: int | None = None
    notes: tuple[str, ...] = ()
    """Oddities, such as a kept name that was a link, or a child that ran out of memory."""


@dataclass(frozen=True)
class SandboxDescription:
    """What a back end cannot contain, and the environment of its scripts."""

    name: str
    gaps: tuple[str, ...]
    """What it does not contain, one sentence each."""
    python: str | None = None
    """Version of the Python that scripts run in; none: the bot's own."""
    packages: Mapping[str, str] | None = None
    """What is installed for scripts, version by name; none: the bot's own environment."""
    environment: str | None = None
    """Name of the environment that scripts run with; none: the bot's own packages, or the image's."""
    image: str | None = None
    """Name and id of the image that containers are made from."""
    isolates: bool = False
    """Whether it isolates scripts from the machine, so that code of any origin may run in it."""

    @property
    def isolation(self) -> str:
        """What isolates scripts from the machine; `none` if nothing does."""
        return self.name if self.isolates else "none"


class Sandbox(Protocol):
    """Runs scripts under limits."""

    async def run(self, request: ExecutionRequest, watch: Watch | None = None) -> ExecutionOutcome:
        """Run the script to its end or a limit, with every descendant gone afterwards.

        Never raises for what the code does. Cancelling the task kills the code and re-raises. The engine's own
        failure is an outcome with the reason INFRASTRUCTURE. Nothing is promised about files beyond `keep`.
        """

    def open_lab(self, request: "LabRequest") -> AbstractAsyncContextManager["LabHandle"]:
        """Open a lab: a sandbox that stays, in which commands are run one by one.

        Raises UsageError: this back end has no labs; LabDied: it could not be opened.
        """

    def quiet(self, lease: Lease, *, from_all: bool = False) -> AbstractContextManager[None]:
        """Keep idle executions off the cores of a lease while a lab's command runs there.

        They are paused where a probe, before the first of them, has shown that their priority alone does not do that;
        with `from_all` always, for work in idle time that goes before all other.
        """

    def describe(self) -> SandboxDescription:
        """Return what this back end cannot contain, and the environment of its scripts."""
