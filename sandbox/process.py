"""The back end without isolation: a plain process under limits of time and memory, with a clean environment."""

import re
import secrets

from sandbox import ExecutionRequest, SandboxDescription
from sandbox.execution import LocalSandbox
from sandbox.idle import IdleTree, idle_command, until_light
from sandbox.instance import label_of
from sandbox.launch import choose_cpus, clean_environment, ended_with_us, path_of, shell_command, under_limits
from sandbox.running import LocalProgram
from sandbox.tree import MARKER, MarkedTree, ProcessTree
from sandbox.watcher import Watcher
from sandbox.workspace import INPUT, WORKING, Workspace, inputs_of

_KAGGLE = re.compile(rf"(?<![\w.])(?:{INPUT}|{WORKING})\b")


class ProcessSandbox(LocalSandbox):
    """Runs scripts as plain processes of the bot's own user: for trusted code."""

    def describe(self) -> SandboxDescription:
        """Return what a plain process cannot contain."""
        return self._describe(
            "process",
            (
                "scripts can read and write everything that the bot's user can, including labels, other views, secrets and data/",
                "network access is not restricted",
                "if the bot is killed, the script ends too, but its child processes keep running until a bot with the "
                "same runs folder starts",
                "a process that detaches and clears its environment cannot be tracked",
                "memory, processes and files are checked five times per second, so a burst can exceed the limits",
                "an idle execution can raise its own priority, and a new session starts at normal priority",
                "files outside the working and temporary folders are not counted",
                "Kaggle's folders are recognised only by name in the script's text, not in paths built at run time",
            ),
        )

    def start(self, request: ExecutionRequest, workspace: Workspace) -> LocalProgram:
        """Link the view and the mounts into the working folder, and start the script."""
        for name, folder in {"data": request.view, **request.mounts}.items():
            (workspace.work / name).parent.mkdir(exist_ok=True)
            (workspace.work / name).symlink_to(folder.resolve(), target_is_directory=True)
        if request.inputs:
            _link_inputs(request, workspace)
        cpus = request.lease.cpus or choose_cpus(request.limits.cpus, next(self._turns))
        mark = f"{label_of(request.out)}.{secrets.token_hex(8)}"
        environment = clean_environment(request, tmp=str(workspace.tmp), cpus=len(cpus), path=path_of(self._python))
        limits = under_limits(request.limits, on_gpu=bool(request.lease.gpus))
        limits += until_light() if request.idle else ""
        argv = ended_with_us(shell_command([str(self._python), "-P", "-s", str(workspace.script)], limits))

        def make_tree(pid: int) -> ProcessTree:
            return IdleTree(MarkedTree(pid, mark)) if request.idle else MarkedTree(pid, mark)

        return LocalProgram(
            idle_command(argv) if request.idle else argv,
            {**environment, MARKER: mark},
            folder=workspace.work,
            cpus=cpus,
            make_tree=make_tree,
            watcher=Watcher(request.limits, (workspace.work, workspace.tmp)),
        )


def _link_inputs(request: ExecutionRequest, workspace: Workspace) -> None:
    """Link Kaggle's folders into the temporary one, and let the script's text name them there: a process has no mounts."""
    for path, folder in {**inputs_of(request), WORKING: workspace.work}.items():
        link = workspace.tmp / path.lstrip("/")
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(folder.resolve(), target_is_directory=True)
    script = _KAGGLE.sub(lambda match: f"{workspace.tmp}{match[0]}", request.script)
    workspace.script.write_text(script, encoding="utf-8", errors="replace")
