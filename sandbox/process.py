"""The back end without isolation: a plain process under limits of time and memory, with a clean environment."""

import secrets

from sandbox import ExecutionRequest, SandboxDescription
from sandbox.execution import LocalSandbox
from sandbox.instance import label_of
from sandbox.launch import choose_cpus, clean_environment, ended_with_us, path_of, shell_command, under_limits
from sandbox.running import LocalProgram
from sandbox.tree import MARKER, MarkedTree
from sandbox.watcher import Watcher
from sandbox.workspace import Workspace


class ProcessSandbox(LocalSandbox):
    """Runs scripts as plain processes of the bot's own user: for trusted code."""

    def describe(self) -> SandboxDescription:
        """Return what a plain process cannot contain."""
        return self._described(
            "process",
            (
                "it reads and writes all that the bot's user can: labels, other views, secrets, and data/ itself",
                "the network is open",
                "when the bot itself is killed, the script is too, but what it has started only at the next start of a bot with "
                "the same folder for runs",
                "a process that leaves its parents and clears its environment is not found again",
                "memory, processes and files are looked at five times a second, so a burst goes over",
                "files outside the working and the temporary folder are not counted",
            ),
        )

    def start(self, request: ExecutionRequest, workspace: Workspace) -> LocalProgram:
        """Link the view and the mounts into the working folder, and start the script."""
        for name, folder in {"data": request.view, **request.mounts}.items():
            (workspace.work / name).parent.mkdir(exist_ok=True)
            (workspace.work / name).symlink_to(folder.resolve(), target_is_directory=True)
        cpus = request.lease.cpus or choose_cpus(request.limits.cpus, next(self._turns))
        mark = f"{label_of(request.out)}.{secrets.token_hex(8)}"
        environment = clean_environment(request, tmp=str(workspace.tmp), cpus=len(cpus), path=path_of(self._python))
        limits = under_limits(request.limits, on_gpu=bool(request.lease.gpus))
        argv = ended_with_us(shell_command([str(self._python), "-P", "-s", str(workspace.script)], limits))
        return LocalProgram(
            argv,
            {**environment, MARKER: mark},
            folder=workspace.work,
            cpus=cpus,
            make_tree=lambda pid: MarkedTree(pid, mark),
            watcher=Watcher(request.limits, (workspace.work, workspace.tmp)),
        )
