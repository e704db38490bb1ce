"""The rights and mounts of a container, the same for every execution and every lab."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docker.types import DeviceRequest, LogConfig, Mount, Ulimit

from sandbox import ExecutionRequest, Limits
from sandbox.identity import NOBODY_ID, Identity
from sandbox.idle import IDLE_SHARES
from sandbox.instance import owner
from sandbox.lab import LabRequest
from sandbox.lab.agent import WORK as LAB_WORK
from sandbox.lab.layout import AGENT, FILTER, limits_of, readable
from sandbox.launch import FILE_SLACK, STACKS, TASK_SLACK, clean_environment, shell_command
from sandbox.workspace import Workspace, inputs_of, start_of

_WORK = "/work"
_CODE = "/code"
PACKAGES = "/packages"
_TMP = "/tmp"  # noqa: S108 - a file system in memory, the container's alone
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

INSTANCE = "kaggle-bot.instance"
OWNER = "kaggle-bot.owner"

_OWN_TASKS = 2
"""Processes in a container that are not the script's: the engine's init and `timeout`."""
_SENTRY_TASKS = 512
"""gVisor's own threads and helpers count too, so that with it the limit is a coarser one."""
_OVERTIME = 60
"""Seconds beyond its limit after which a script ends by itself, in case the bot is gone."""
_WAIT = "read -r line || exit 125; "
"""The shell's first command inside: wait for a line from us.

The engine reports that we are attached a moment too early, and drops what is printed in between; but it passes on our
input only once it passes on output, too.
"""


@dataclass(frozen=True)
class Origin:
    """What a container is made from, whatever it is for."""

    image: str
    instance: str
    """The bot's instance, by which its containers are recognised after a crash."""
    runtime: str | None
    """`runsc`, `nvidia` or another that the engine knows; none: its default."""
    packages: Path | None = None
    """Folder of an environment's packages, which go before the image's; none: the image's alone."""


@dataclass(frozen=True)
class ContainerSpec:
    """One container."""

    origin: Origin
    name: str
    """Its key: a second container cannot have it."""
    command: Sequence[str]
    environment: Mapping[str, str]
    writable: Mapping[str, Path]
    """Folders by their paths inside; it starts in the first."""
    readable: Mapping[str, Path]
    """Folders and files by their paths inside."""
    code: Path
    """Folder for small files that are made for it."""
    limits: Limits
    cpus: Sequence[int]
    """Numbers of cores."""
    gpus: Sequence[str] = ()
    """UUIDs."""
    idle: bool = False
    """Whether it gets only the processor time that nothing else wants."""


def container_identity() -> Identity:
    """Return whom containers run as: nobody if we are root, else ourselves, so that we may remove what they leave."""
    root = os.geteuid() == 0
    return Identity(NOBODY_ID if root else os.geteuid(), (), (), changes_user=root, counted=True)


def name_of(folder: Path, name: str) -> str:
    """Return the key of what has this name in a folder: names are unique in there only."""
    return f"kaggle-bot-{hashlib.sha256(os.fsencode(folder.absolute())).hexdigest()[:12]}-{name}"


def script_plan(origin: Origin, request: ExecutionRequest, workspace: Workspace, cpus: Sequence[int]) -> ContainerSpec:
    """Return the container of an execution."""
    script = ["python3", "-P", "-s", f"{_CODE}/{workspace.script.name}"]
    mounts, start = {"data": request.view, **request.mounts}, start_of(request, _WORK)
    for name in mounts:
        (workspace.work / name).mkdir(parents=True, exist_ok=True)
    environment = clean_environment(request, tmp=_TMP, cpus=len(cpus), path=PATH)
    return ContainerSpec(
        origin,
        name_of(request.out, request.execution_id),
        shell_command(["timeout", "-s", "KILL", f"{request.wall_seconds + _OVERTIME:.0f}", *script], _WAIT),
        environment | ({"PYTHONPATH": PACKAGES} if origin.packages else {}),
        {start: workspace.work},
        {_CODE: workspace.code, **{f"{start}/{name}": folder for name, folder in mounts.items()}, **inputs_of(request)},
        workspace.code,
        request.limits,
        cpus,
        request.lease.gpus,
        request.idle,
    )


def lab_plan(origin: Origin, request: LabRequest, work: Path, gpus: Sequence[str]) -> ContainerSpec:
    """Return the container of a lab: it may use all cores, as each command chooses its own, and it ends with its stdin."""
    return ContainerSpec(
        origin,
        name_of(request.folder, request.lab_id),
        shell_command(["python3", "-I", "-S", AGENT, FILTER], _WAIT, talks=True),
        {"PATH": PATH, "LANG": "C.UTF-8"},
        {LAB_WORK: work},
        readable(request),
        request.folder / "code",
        limits_of(request),
        sorted(os.sched_getaffinity(0)),
        gpus,
    )


def container_options(plan: ContainerSpec) -> dict[str, Any]:
    """Return all options of a container (`docker.containers.create`)."""
    limits, identity = plan.limits, container_identity()
    group = identity.user if identity.changes_user else os.getegid()
    tasks = limits.processes + _OWN_TASKS + TASK_SLACK
    memory = f"rw,nosuid,nodev,size={limits.memory_bytes},nr_inodes={limits.files},mode=1777"
    options = {
        "image": plan.origin.image,
        "name": plan.name,
        "labels": {INSTANCE: plan.origin.instance, OWNER: owner()},
        # The whole command as entry point: one of the image's own would come before it.
        "entrypoint": list(plan.command),
        "environment": dict(plan.environment),
        "stdin_open": True,
        "working_dir": next(iter(plan.writable)),
        "hostname": "sandbox",
        "user": f"{identity.user}:{group}",
        "mounts": _mounts(plan),
        "tmpfs": {_TMP: memory},
        "shm_size": limits.memory_bytes,
        "network_mode": "none",
        "read_only": True,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],  # the engine's seccomp filter stays on
        "init": True,
        "pids_limit": max(tasks, _SENTRY_TASKS) if plan.origin.runtime == "runsc" else tasks,
        "mem_limit": limits.memory_bytes,
        "memswap_limit": limits.memory_bytes,
        "nano_cpus": len(plan.cpus) * 10**9,
        "cpuset_cpus": ",".join(str(cpu) for cpu in plan.cpus),
        "oom_score_adj": 500,
        "ulimits": _ulimits(plan),
        "healthcheck": {"test": ["NONE"]},
        # We read all of its output as it comes; a log beside that would cost by the line.
        "log_config": LogConfig(type=LogConfig.types.NONE),
        "use_config_proxy": False,  # the host's proxies, perhaps with a password, are none of its business
        "runtime": plan.origin.runtime,
    }
    if plan.idle:
        options["cpu_shares"] = IDLE_SHARES
    if plan.gpus:
        options["device_requests"] = [DeviceRequest(device_ids=list(plan.gpus), capabilities=[["gpu"]])]
    return options


def _mounts(plan: ContainerSpec) -> list[Mount]:
    """Return what it sees of the host; mount points in a writable folder must be there, or the engine makes them its own."""
    read_only = dict(plan.readable)
    if plan.origin.packages:
        read_only[PACKAGES] = plan.origin.packages
    for target, content in container_identity().accounts().items():
        read_only[target] = plan.code / Path(target).name
        read_only[target].write_bytes(content)
        read_only[target].chmod(0o644)
    plan.code.chmod(0o755)  # whatever our umask is: another user must be able to read it
    return [
        Mount(target, str(source.resolve()), type="bind", read_only=mounts is read_only)
        for mounts in (plan.writable, read_only)
        for target, source in mounts.items()
    ]


def _ulimits(plan: ContainerSpec) -> list[Ulimit]:
    limits = plan.limits
    values = {"core": 0, "nofile": 4096, "fsize": limits.written_bytes + FILE_SLACK}
    if not plan.gpus:  # CUDA reserves far more than it uses
        values["data"] = limits.memory_bytes + STACKS
    return [Ulimit(name=name, soft=value, hard=value) for name, value in values.items()]
