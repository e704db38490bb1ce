"""Labs: sandboxes that stay open, in which commands are run one by one and background jobs go on between them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from sandbox import Lease
from state.errors import InfrastructureFailure
from state.redaction import Redactor


class LabDied(InfrastructureFailure):
    """A lab has ended, or could not be opened; its files stay, and it may be opened again."""


@dataclass(frozen=True)
class LabLimits:
    """What all processes of a lab together may use; what goes over a limit ends them, but not the lab."""

    memory_bytes: int
    """Files in memory (/tmp, /dev/shm) included."""
    disk_bytes: int
    """Of what lies in `work`."""
    tasks: int = 256
    """Processes and threads."""
    output_bytes: int = 20_000_000
    """Of one command's output, in its log."""
    shown_characters: int = 16_000
    """Of one command's output, in its result: the first and the last part."""


@dataclass(frozen=True)
class LabRequest:
    """One lab."""

    lab_id: str
    """Unique in the run, such as `lab3`: letters, digits, dot, underscore and minus."""
    folder: Path
    """Folder on the host whose parent only the bot's user can enter. It holds `work` (the lab's own, kept between two
    openings), `logs` (a file per command, to be read inside in /lab/logs), `socket` (inside /lab/.engine), and `code`."""
    mounts: Mapping[str, Path]
    """Folders and files that are found read-only under /lab, by their paths there; `data` and `weights` in /lab/work, too."""
    limits: LabLimits
    redactor: Redactor | None = field(default=None, compare=False, repr=False)
    """Takes the bot's own secrets out of logs and results."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that commands find beside the sandbox's own."""
    lease: Lease = field(default=Lease(), compare=False)
    """It lives where this is; its commands have leases of their own."""
    in_place: Sequence[Path] = ()
    """Folders and files that are found read-only where they lie on the host, as an installed program expects its own."""


@dataclass
class LabPlace:
    """Where a lab's commands are to have their leases."""

    node: str | None = None
    """The node of a fleet that the lab lives on; None: on this machine, or nowhere yet."""


@dataclass(frozen=True)
class CommandResult:
    """What came of a command."""

    output: str
    """stdout and stderr, interleaved, as a terminal would show it; where something was left out, a line after `OURS` says
    how much."""
    exit_code: int | None
    """As a shell says it; none if the command was ended for its time, for a limit, or with the lab."""
    seconds: float
    """Wall time."""
    timed_out: bool
    notice: str | None
    """A sentence on a limit that has ended processes, or on how the lab died, since the command before."""
    jobs: int
    """Processes that go on in the background."""
    running: tuple[str, ...] = ()
    """Some of them by their command lines, which are foreign text, and with their seconds."""


class LabHandle(Protocol):
    """An open lab."""

    async def run(
        self, number: int, command: str, *, seconds: float, cpus: Sequence[int], gpus: Sequence[str] = ()
    ) -> CommandResult:
        """Run a command of bash to its end; what it left in the background goes on.

        Cancelling the task ends the command's session and re-raises.

        `number` is its own in this lab; its whole output is in /lab/logs/<number>.txt. It starts where the one before
        ended. When its seconds are over, all of its session is killed; what was started with `setsid` goes on. It stays
        on the cores, and is told of the GPUs (UUIDs).

        Raises:
            LabDied: The lab had ended before.
            RuntimeError: Another command is running.
        """

    async def wait_idle(self) -> None:
        """Return when no process runs any more; at once where the lab has ended."""

    async def sync_work_folder(self) -> None:
        """Have `work` in the lab's folder be as it is now, where the lab lives on another machine.

        Raises LabDied: That machine is lost.
        """

    async def close(self) -> None:
        """End everything; the files stay."""

    @property
    def alive(self) -> bool:
        """Whether it can run commands."""

    @property
    def node(self) -> str | None:
        """The node of a fleet that it lives on; None: it lives on this machine."""
