"""The back end that isolates without a daemon: bubblewrap, as root or as an ordinary user."""

import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path

from sandbox import ExecutionRequest, SandboxDescription
from sandbox.execution import LocalSandbox, try_out
from sandbox.gpu import leased_devices, open_gpus
from sandbox.identity import Identity, choose_identity
from sandbox.idle import IdleTree, idle_command, until_light
from sandbox.lab import LabRequest
from sandbox.lab.agent import WORK as LAB_WORK
from sandbox.lab.layout import AGENT, FILTER, limits_of, readable
from sandbox.launch import choose_cpus, clean_environment, path_of, shell_command, under_limits
from sandbox.mounts import CODE, TMPFS, WORK, VisiblePaths, file_arguments, visible_paths
from sandbox.running import LocalProgram
from sandbox.seccomp import seccomp_program
from sandbox.tree import NamespaceTree, ProcessTree
from sandbox.watcher import Watcher
from sandbox.workspace import Workspace, inputs_of, start_of

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


class BubblewrapSandbox(LocalSandbox):
    """Runs scripts that see the Python environment, their view and their working folder, and nothing else."""

    isolates = True

    @cached_property
    def _visible(self) -> VisiblePaths:
        return visible_paths(self._environment)

    def problem(self) -> str | None:
        """Return in one sentence why it cannot be used here, found out by running it; None if it works."""
        package_of_tool = {"bwrap": "bubblewrap"}
        if choose_identity().changes_user:
            package_of_tool["setpriv"] = "util-linux"
        for tool, package in package_of_tool.items():
            if shutil.which(tool) is None:
                return f"{tool} is not installed: install the Debian package {package}."
        works, output = try_out(self)
        return None if works else f"bubblewrap is installed but does not work here ({output}); {_HOW_TO_ALLOW}."

    def describe(self) -> SandboxDescription:
        """Return what it cannot contain here."""
        gaps = [
            "total memory is checked five times per second, so a burst across several processes can exceed the limit; "
            "the kernel limits only individual processes",
            "kernel memory (socket and pipe buffers) and unnamed files held in a socket are not counted; the script is "
            "stopped when the machine is almost out of memory or disk space",
            "with a GPU, anonymous shared memory is not counted either",
            "the kernel is shared: scripts can exploit its bugs through unfiltered system calls",
            "GPU memory is not limited, and scripts access the driver directly; the execution has the GPU to itself",
        ]
        if seccomp_program() is None:
            gaps.append("no system call filter: libseccomp is missing (Debian package libseccomp2)")
        if not choose_identity().counted:
            gaps.append("the number of processes is limited by periodic checks, not by the kernel")
        return self._describe("bubblewrap", tuple(gaps))

    def start(self, request: ExecutionRequest, workspace: Workspace) -> LocalProgram:
        """Start bwrap, and the script in it."""
        turn = next(self._turns)
        identity = choose_identity(turn)
        self._refuse_shown(request.out)
        identity.ensure_readable((request.view, *request.mounts.values(), *request.inputs.values()))
        cpus = request.lease.cpus or choose_cpus(request.limits.cpus, turn)
        mounts, start = {"data": request.view, **request.mounts}, start_of(request, WORK)
        for mount_point in mounts:
            (workspace.work / mount_point).mkdir(parents=True, exist_ok=True)
        workspace.code.chmod(0o755)  # another user must be able to read it, whatever our umask
        environment = clean_environment(request, tmp=TMPFS[0], cpus=len(cpus), path=path_of(self._python))
        limits = under_limits(request.limits, count_tasks=identity.counted, on_gpu=bool(request.lease.gpus))
        limits += until_light() if request.idle else ""
        script = [str(self._python), "-P", "-s", f"{CODE}/{workspace.script.name}"]
        with ExitStack() as stack:
            argv, descriptors = bubblewrap_command(
                stack,
                shell_command(script, limits, first_process=not identity.changes_user),
                identity,
                self._visible,
                writable={start: workspace.work},
                readable={
                    CODE: workspace.code,
                    **{f"{start}/{name}": folder for name, folder in mounts.items()},
                    **inputs_of(request),
                },
                start=start,
                tmpfs_bytes=request.limits.memory_bytes,
                gpus=request.lease.gpus,
                idle=request.idle,
                options=_first_process(identity),
            )
            return LocalProgram(
                idle_command(argv) if request.idle else argv,
                environment,
                folder=Path("/"),
                cpus=cpus,
                make_tree=lambda pid: _tree(pid, idle=request.idle),
                watcher=Watcher(request.limits, (workspace.work,)),
                descriptors=descriptors,
            )

    def start_lab(self, request: LabRequest, work: Path, watcher: Watcher) -> LocalProgram:
        """Start bwrap, and the agent in it, which may choose the cores of what it starts."""
        identity = choose_identity(place=request.folder)
        self._refuse_shown(request.folder)
        identity.ensure_readable((*request.mounts.values(), *request.in_place))
        with open_gpus() as gpus:
            uuids = [gpu.uuid for gpu in gpus.all()]
        limits = under_limits(limits_of(request), count_tasks=identity.counted, on_gpu=bool(uuids))
        agent = [str(self._python), "-I", "-S", AGENT, FILTER]
        with ExitStack() as stack:
            argv, descriptors = bubblewrap_command(
                stack,
                shell_command(agent, limits, first_process=not identity.changes_user, talks=True),
                identity,
                self._visible,
                writable={LAB_WORK: work},
                readable=readable(request),
                start=LAB_WORK,
                tmpfs_bytes=request.limits.memory_bytes,
                gpus=uuids,
                pinned=False,
                options=_first_process(identity),
            )
            return LocalProgram(
                argv,
                {"PATH": self.search_paths.programs, "LANG": "C.UTF-8"},
                folder=Path("/"),
                cpus=sorted(os.sched_getaffinity(0)),
                make_tree=_tree,
                watcher=watcher,
                descriptors=descriptors,
                talks=True,
            )

    def _refuse_shown(self, folder: Path) -> None:
        if visible := self._visible.shows(folder):
            raise PermissionError(f"the run folder {folder} is inside {visible}, which scripts can read")


def _tree(pid: int, *, idle: bool = False) -> ProcessTree:
    tree = NamespaceTree(pid, TMPFS)
    return IdleTree(tree) if idle else tree


def _first_process(identity: Identity) -> Sequence[str]:
    """Return what makes our command the first process inside.

    Else bwrap stays that: when we are killed the kernel sends it the signal in bwrap's name, which, its rights given up, may
    end only its own user's processes.
    """
    return () if identity.changes_user else ("--as-pid-1",)


def bubblewrap_command(
    stack: ExitStack,
    command: Sequence[str],
    identity: Identity,
    visible: VisiblePaths,
    *,
    writable: Mapping[str, Path],
    readable: Mapping[str, Path],
    start: str,
    tmpfs_bytes: int,
    gpus: Sequence[str] = (),
    pinned: bool = True,
    idle: bool = False,
    options: Sequence[str] = (),
) -> tuple[list[str], list[int]]:
    """Return the command line that runs a command contained, and the descriptors that bwrap reads, closed with the stack.

    What it may write becomes the `identity`'s. Folders and files are given by their paths inside, where it starts too.
    `tmpfs_bytes` is the size of each of its file systems in memory, `gpus` are UUIDs. `pinned`, it stays on the cores
    that it was started on; `idle`, at the priority.
    """
    for folder in writable.values():
        identity.give(folder)
    contents = {str(path): path.read_bytes() for path in visible.files} | identity.accounts()
    files = {path: _pass_content(stack, content) for path, content in contents.items()}
    arguments = [*_NAMESPACES, *identity.namespace, "--die-with-parent", "--new-session", *options]
    arguments += file_arguments(
        visible,
        files=files,
        writable=writable,
        readable=readable,
        start=start,
        tmpfs_bytes=tmpfs_bytes,
        devices=leased_devices(gpus),
    )
    descriptors = list(files.values())
    if not gpus:
        # Mapped, it is memory that nobody can count, as the filter refuses it elsewhere.
        descriptors.append(_pass_content(stack, b""))
        arguments += ["--ro-bind-data", str(descriptors[-1]), "/dev/zero"]
    if idle:
        arguments += ["--remount-ro", "/proc"]  # where it could give its session the usual weight again
    if program := seccomp_program(shared_memory=bool(gpus), pinned=pinned, idle=idle):
        descriptors.append(_pass_content(stack, program))
        arguments += ["--seccomp", str(descriptors[-1])]
    # By descriptor: its command line shows nothing that is not meant for the script.
    descriptors.append(_pass_content(stack, b"".join(os.fsencode(argument) + b"\0" for argument in arguments)))
    # If it is not installed, the start fails with a clear message.
    bwrap = shutil.which("bwrap") or "bwrap"
    return [bwrap, "--args", str(descriptors[-1]), "--", *identity.become, *command], descriptors


def _pass_content(stack: ExitStack, content: bytes) -> int:
    """Return a descriptor that holds this content, to be read from its start; closed with the stack."""
    descriptor = os.memfd_create("bwrap")
    stack.callback(os.close, descriptor)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
