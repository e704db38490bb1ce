"""The back end without isolation: a plain process under limits of time and memory, with a clean environment."""

import itertools
import secrets

from sandbox import ExecutionRequest, Outcome, SandboxDescription, Watch
from sandbox.environment import clean_environment, path_of
from sandbox.environments import Environment, packages_of, python_of
from sandbox.execution import run_in_thread
from sandbox.instance import label_of
from sandbox.launch import Launch, choose_cpus, ended_with_us, shell_command, under_limits
from sandbox.running import LocalProgram
from sandbox.tree import MARKER, MarkedTree
from sandbox.watcher import Watcher
from sandbox.workspace import Workspace

__all__ = ["ProcessSandbox"]


class ProcessSandbox:
    """Runs scripts as plain processes of the bot's own user: for code that is trusted."""

    def __init__(self, environment: Environment | None = None) -> None:
        """Take the environment that scripts run with; None: the bot's own."""
        self._turns = itertools.count()
        self._environment = environment

    async def run(self, request: ExecutionRequest, watch: Watch | None = None) -> Outcome:
        """Run the script; see `sandbox.Sandbox.run`."""
        return await run_in_thread(self, request, watch)

    def describe(self) -> SandboxDescription:
        """Say what a plain process contains, and what it does not."""
        return SandboxDescription(
            name="process",
            isolation="none",
            contains=("time", "memory", "number of processes", "files and bytes written", "environment variables"),
            gaps=(
                "it reads and writes all that the bot's user can: labels, other views, secrets, and data/ itself",
                "the network is open",
                "when the bot itself is killed, the script is too, but what it has started only at the next start of a bot with "
                "the same folder for runs",
                "a process that leaves its parents and clears its environment is not found again",
                "memory, processes and files are looked at five times a second, so a burst goes over",
                "files outside the working and the temporary folder are not counted",
            ),
            **packages_of(self._environment),
        )

    def start(self, request: ExecutionRequest, workspace: Workspace) -> LocalProgram:
        """Link the view and the mounts into the working folder, and start the script."""
        if not workspace.data.exists():
            workspace.data.symlink_to(request.view.resolve(), target_is_directory=True)
        for name, folder in request.mounts.items():
            (workspace.work / name).parent.mkdir(exist_ok=True)
            (workspace.work / name).symlink_to(folder.resolve(), target_is_directory=True)
        cpus = request.lease.cpus or choose_cpus(request.limits.cpus, next(self._turns))
        mark = f"{label_of(request.out)}.{secrets.token_hex(8)}"
        python = python_of(self._environment)
        environment = clean_environment(request, tmp=str(workspace.tmp), cpus=len(cpus), path=path_of(python))
        limits = under_limits(request.limits, on_gpu=bool(request.lease.gpus))
        argv = ended_with_us(shell_command([str(python), "-P", "-s", str(workspace.script)], limits))
        launch = Launch(argv, {**environment, MARKER: mark}, workspace.work, cpus)
        watcher = Watcher(request.limits, (workspace.work, workspace.tmp))
        return LocalProgram(launch, lambda pid: MarkedTree(pid, mark), watcher)
