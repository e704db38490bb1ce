"""The back end that isolates without a daemon: bubblewrap, as root or as an ordinary user."""

import itertools
import os
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path

from sandbox import ExecutionRequest, ExitReason, Limits, Outcome, SandboxDescription, Watch
from sandbox.environment import clean_environment, path_of
from sandbox.environments import Environment, packages_of, python_of
from sandbox.execution import execute, run_in_thread
from sandbox.gpu import leased_devices
from sandbox.identity import Identity, choose_identity
from sandbox.instance import owner
from sandbox.launch import Launch, choose_cpus, shell_command, under_limits
from sandbox.mounts import CODE, TMPFS, file_arguments, visible_paths
from sandbox.running import LocalProgram
from sandbox.seccomp import seccomp_program
from sandbox.supervise import stop_signal
from sandbox.tree import NamespaceTree
from sandbox.watcher import Watcher
from sandbox.workspace import Workspace

__all__ = ["BubblewrapSandbox"]

_NAMESPACES = (
    "--unshare-pid",
    "--unshare-net",
    "--unshare-ipc",
    "--unshare-cgroup-try",
    "--unshare-uts",
    "--hostname",
    "sandbox",
)
_HOW_TO_ALLOW = (
    "allow unprivileged user namespaces (Ubuntu 24.04 and later: sysctl kernel.apparmor_restrict_unprivileged_userns=0, "
    "or an AppArmor profile for bwrap; elsewhere: sysctl kernel.unprivileged_userns_clone=1 and "
    "user.max_user_namespaces above 0; in a container: more privileges)"
)


class BubblewrapSandbox:
    """Runs scripts that see the Python environment, their view and their working folder, and nothing else."""

    def __init__(self, environment: Environment | None = None) -> None:
        """Take the environment that scripts run with; None: the bot's own."""
        self._turns = itertools.count()
        self._filter = seccomp_program()
        self._gpu_filter = seccomp_program(shared_memory=True)
        self._environment = environment
        self._visible = visible_paths(environment)

    async def run(self, request: ExecutionRequest, watch: Watch | None = None) -> Outcome:
        """Run the script; see `sandbox.Sandbox.run`."""
        return await run_in_thread(self, request, watch)

    def problem(self) -> str | None:
        """Say in one sentence why it cannot be used here, found out by running it; none if it works."""
        needed = {"bwrap": "bubblewrap"}
        if choose_identity().changes_user:
            needed["setpriv"] = "util-linux"
        for tool, package in needed.items():
            if shutil.which(tool) is None:
                return f"{tool} is not installed (Debian package {package})."
        with tempfile.TemporaryDirectory(prefix=f"bot-{owner()}-") as folder, stop_signal() as stop:
            view = Path(folder) / "view"
            view.mkdir()
            view.parent.chmod(0o755)
            request = ExecutionRequest("probe", "", view, Path(folder) / "out", Limits(seconds=30))
            outcome = execute(self, request, stop)
        if outcome.reason is ExitReason.FINISHED:
            return None
        said = (outcome.detail or outcome.output or "it gave no reason").strip()
        return f"bubblewrap is installed but does not work here ({said}); {_HOW_TO_ALLOW}."

    def describe(self) -> SandboxDescription:
        """Say what it contains here, and its gaps."""
        gaps = [
            "memory is summed five times a second, so a burst over several processes goes over; each process alone "
            "is held by the kernel",
            "memory of the kernel itself (socket and pipe buffers) is not counted, nor are files without a name that lie "
            "in a socket; it ends when the machine has hardly any memory or disk left",
            "with a GPU, memory that is shared without a file is not counted either",
            "the kernel is shared: its holes are open but for the filtered calls",
            "of a GPU, its memory is not limited and its driver is reached directly: the GPU is the execution's alone",
        ]
        if self._filter is None:
            gaps.append("no system call filter: libseccomp is missing (Debian package libseccomp2)")
        if not choose_identity().counted:
            gaps.append("processes are limited by the watcher alone")
        contains = ("network", "files", "environment", "processes", "capabilities", "memory", "time", "disk", "keys")
        return SandboxDescription("bubblewrap", "bubblewrap", contains, tuple(gaps), **packages_of(self._environment))

    def start(self, request: ExecutionRequest, workspace: Workspace) -> LocalProgram:
        """Start bwrap, and the script in it."""
        turn = next(self._turns)
        identity = choose_identity(turn)
        self._check_places(request, identity)
        cpus = request.lease.cpus or choose_cpus(request.limits.cpus, turn)
        for mount_point in ("data", *request.mounts):
            (workspace.work / mount_point).mkdir(parents=True, exist_ok=True)
        identity.give(workspace.work)
        contents = {str(path): path.read_bytes() for path in self._visible.files}
        contents |= identity.accounts()
        workspace.code.chmod(0o755)  # whatever our umask is: another user must be able to read it
        with ExitStack() as stack:
            files = {path: _passed(stack, content) for path, content in contents.items()}
            options = [*_NAMESPACES, *identity.namespace, "--die-with-parent", "--new-session"]
            if not identity.changes_user:
                # Else bwrap stays the first process inside: when we are killed the kernel sends that one the signal in
                # bwrap's name, which, its rights given up, may end only its own user's processes.
                options.append("--as-pid-1")
            options += file_arguments(
                self._visible,
                files=files,
                code=workspace.code,
                work=workspace.work,
                view=None if request.writable_data else request.view,
                tmpfs_bytes=request.limits.memory_bytes,
                mounts=request.mounts,
                devices=leased_devices(request.lease.gpus),
            )
            descriptors = list(files.values())
            if not request.lease.gpus:
                # Mapped, it is memory that nobody can count, as the filter refuses it elsewhere.
                descriptors.append(_passed(stack, b""))
                options += ["--ro-bind-data", str(descriptors[-1]), "/dev/zero"]
            if program := self._gpu_filter if request.lease.gpus else self._filter:
                descriptors.append(_passed(stack, program))
                options += ["--seccomp", str(descriptors[-1])]
            # By descriptor: in its environment and command line nothing can be read that was not meant for the script.
            descriptors.append(_passed(stack, b"".join(os.fsencode(option) + b"\0" for option in options)))
            python = python_of(self._environment)
            environment = clean_environment(request, tmp=TMPFS[0], cpus=len(cpus), path=path_of(python))
            limits = under_limits(request.limits, count_tasks=identity.counted, on_gpu=bool(request.lease.gpus))
            script = [str(python), "-P", "-s", f"{CODE}/{workspace.script.name}"]
            command = [*identity.become, *shell_command(script, limits, first_process=not identity.changes_user)]
            argv = [_tool("bwrap"), "--args", str(descriptors[-1]), "--", *command]
            launch = Launch(argv, environment, Path("/"), cpus, descriptors)
            watcher = Watcher(request.limits, (workspace.work,))
            return LocalProgram(launch, lambda pid: NamespaceTree(pid, TMPFS), watcher)

    def _check_places(self, request: ExecutionRequest, identity: Identity) -> None:
        """Raise OSError where a script could see the run's folder, or could not see its view."""
        if shown := self._visible.shows(request.out):
            raise PermissionError(f"the run folder {request.out} lies in {shown}, which scripts can read")
        for folder in (request.view, *request.mounts.values()):
            if identity.changes_user and not folder.stat().st_mode & 0o005 == 0o005:
                raise PermissionError(f"{folder} is not readable by others, as a script is (chmod -R o+rX)")


def _passed(stack: ExitStack, content: bytes) -> int:
    """Return a descriptor that holds this content, to be read from its start; closed with the stack."""
    descriptor = os.memfd_create("bwrap")
    stack.callback(os.close, descriptor)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _tool(name: str) -> str:
    """Return the path of a program, or its bare name, which then fails to start with a clear word."""
    return shutil.which(name) or name
