"""The rights and mounts of a container, the same for every execution."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docker.types import DeviceRequest, LogConfig, Mount, Ulimit

from sandbox import ExecutionRequest
from sandbox.identity import NOBODY, Identity
from sandbox.instance import owner
from sandbox.launch import FILE_SLACK, STACKS, TASK_SLACK, clean_environment, shell_command
from sandbox.workspace import Workspace

_WORK = "/work"
_CODE = "/code"
_PACKAGES = "/packages"
_TMP = "/tmp"  # noqa: S108 - a file system in memory, the container's alone
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

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
class Plan:
    """One container."""

    request: ExecutionRequest
    workspace: Workspace
    image: str
    instance: str
    """The bot's instance, by which its containers are recognised after a crash."""
    runtime: str | None
    """`runsc`, `nvidia` or another that the engine knows; none: its default."""
    cpus: Sequence[int]
    """Numbers of cores."""
    packages: Path | None = None
    """Folder of an environment's packages, which go before the image's; none: the image's alone."""

    @property
    def identity(self) -> Identity:
        """Nobody if we are root, else ourselves, so that we may remove what it leaves."""
        root = os.geteuid() == 0
        return Identity(NOBODY if root else os.geteuid(), (), (), changes_user=root, counted=True)


def name_of(request: ExecutionRequest) -> str:
    """Return the key of an execution: a second container cannot have it; ids are unique within a run's folder only."""
    place = hashlib.sha256(os.fsencode(request.out.absolute())).hexdigest()[:12]
    return f"kaggle-bot-{place}-{request.execution_id}"


def container_options(plan: Plan) -> dict[str, Any]:
    """Return all options of a container (`docker.containers.create`)."""
    request, limits = plan.request, plan.request.limits
    user = plan.identity.user
    group = user if plan.identity.changes_user else os.getegid()
    tasks = limits.processes + _OWN_TASKS + TASK_SLACK
    memory = f"rw,nosuid,nodev,size={limits.memory_bytes},nr_inodes={limits.files},mode=1777"
    environment = clean_environment(request, tmp=_TMP, cpus=len(plan.cpus), path=_PATH)
    if plan.packages:  # the image's Python takes them as if they were its own
        environment["PYTHONPATH"] = _PACKAGES
    script = ["python3", "-P", "-s", f"{_CODE}/{plan.workspace.script.name}"]
    command = ["timeout", "-s", "KILL", f"{limits.seconds + _OVERTIME:.0f}", *script]
    options = {
        "image": plan.image,
        "name": name_of(request),
        "labels": {INSTANCE: plan.instance, OWNER: owner()},
        # The whole command as entry point: one of the image's own would come before it.
        "entrypoint": shell_command(command, _WAIT),
        "environment": environment,
        "stdin_open": True,
        "working_dir": _WORK,
        "hostname": "sandbox",
        "user": f"{user}:{group}",
        "mounts": _mounts(plan),
        "tmpfs": {_TMP: memory},
        "shm_size": limits.memory_bytes,
        "network_mode": "none",
        "read_only": True,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],  # the engine's seccomp filter stays on
        "init": True,
        "pids_limit": max(tasks, _SENTRY_TASKS) if plan.runtime == "runsc" else tasks,
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
        "runtime": plan.runtime,
    }
    if request.lease.gpus:
        options["device_requests"] = [DeviceRequest(device_ids=list(request.lease.gpus), capabilities=[["gpu"]])]
    return options


def _mounts(plan: Plan) -> list[Mount]:
    """Return what it sees of the host; mount points in the working folder must be there, or the engine makes them its own."""
    request, workspace = plan.request, plan.workspace
    read_only = {_CODE: workspace.code}
    for name, folder in {"data": request.view, **request.mounts}.items():
        read_only[f"{_WORK}/{name}"] = folder
        (workspace.work / name).mkdir(parents=True, exist_ok=True)
    if plan.packages:
        read_only[_PACKAGES] = plan.packages
    for target, content in plan.identity.accounts().items():
        read_only[target] = workspace.code / Path(target).name
        read_only[target].write_bytes(content)
        read_only[target].chmod(0o644)
    workspace.code.chmod(0o755)  # whatever our umask is: another user must be able to read it
    mounts = [Mount(_WORK, str(workspace.work.resolve()), type="bind")]
    mounts += [
        Mount(target, str(source.resolve()), type="bind", read_only=True) for target, source in read_only.items()
    ]
    return mounts


def _ulimits(plan: Plan) -> list[Ulimit]:
    limits = plan.request.limits
    values = {"core": 0, "nofile": 4096, "fsize": limits.written_bytes + FILE_SLACK}
    if not plan.request.lease.gpus:  # CUDA reserves far more than it uses
        values["data"] = limits.memory_bytes + STACKS
    return [Ulimit(name=name, soft=value, hard=value) for name, value in values.items()]
