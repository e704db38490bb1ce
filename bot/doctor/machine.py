"""Checks of the machine: what scripts may use, sandboxes with their packages, GPUs, disk, database, leases."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from bot.doctor import Finding
from bot.execution.disk_space import DiskSettings, free_bytes, nearest
from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.docker import DockerSandbox
from sandbox.environments import ScriptEnvironment, chosen_environment
from sandbox.execution import LocalSandbox
from sandbox.gpu import Gpus, device_files
from sandbox.image.engine import ENGINE_FAILURES, connect
from sandbox.leases import leases_folder
from sandbox.locks import try_lock
from sandbox.settings import SandboxSettings
from sandbox.share import share_of, usable_cpus, usable_memory
from state.clock import SystemClock
from state.errors import BotError, UsageError
from state.store import Store

_UNSAFE = (1, 17, 7)
"""Last version of the toolkit with a known escape from a container (CVE-2025-23266)."""


def check_gpus(gpus: Gpus) -> Iterator[Finding]:
    """List the GPUs, and check what scripts need to reach them."""
    if gpus.driver is None:
        yield Finding("GPU", "ok", "no NVIDIA driver: scripts run on the CPU")
    elif not gpus.all():
        fix = "check nvidia-smi, and whether CUDA_VISIBLE_DEVICES in the bot's environment hides the GPUs"
        yield Finding("GPU", "warning", f"driver {gpus.driver}, but no GPU found", fix)
    else:
        names = ", ".join(f"{gpu.name} {gpu.memory_bytes / 1024**3:.0f} GiB ({gpu.uuid})" for gpu in gpus.all())
        yield Finding("GPU", "ok", f"driver {gpus.driver}: {names}")
        yield from check_devices(gpus)
        runtimes: Collection[str] | None = None
        with suppress(*ENGINE_FAILURES), connect() as engine:
            runtimes = list(engine.info().get("Runtimes", {}))
        yield from check_toolkit(runtimes)


def check_devices(gpus: Gpus, folder: Path = Path("/dev")) -> Iterator[Finding]:
    """Check the device files by which scripts under bubblewrap reach a GPU."""
    files = device_files(gpus, [gpu.uuid for gpu in gpus.all()], folder)
    required = {f"nvidia{gpu.minor}" for gpu in gpus.all()} | {"nvidiactl", "nvidia-uvm"}
    if missing := sorted(required - {file.name for file in files}):
        fix = "run nvidia-modprobe -u -c=0 and nvidia-smi as root to create them"
        yield Finding("GPU devices", "warning", f"missing: {', '.join(missing)}", fix)
    elif closed := [file.name for file in files if file.stat().st_mode & 0o006 != 0o006]:
        fix = "set the driver option NVreg_DeviceFileMode to 0666: scripts may run as a different user"
        yield Finding("GPU devices", "warning", f"not readable and writable by all users: {', '.join(closed)}", fix)
    else:
        yield Finding("GPU devices", "ok", ", ".join(sorted(file.name for file in files)))


def check_toolkit(runtimes: Collection[str] | None) -> Iterator[Finding]:
    """Check the toolkit that brings GPUs into containers, and that the Docker engine's runtimes (None: no engine) have it."""
    part, tool = "NVIDIA toolkit", shutil.which("nvidia-ctk")
    command = [tool or "true", "--version"]
    output = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False).stdout
    version = re.search(r"(\d+)\.(\d+)\.(\d+)", output) if tool else None
    if version is None or tuple(map(int, version.groups())) <= _UNSAFE:
        result = f"{version[0]}, which has a known container-escape vulnerability" if version else "not installed"
        fix = "to use GPUs with Docker, install nvidia-container-toolkit 1.17.8 or later; bubblewrap does not need it"
        yield Finding(part, "warning", result, fix)
    elif runtimes is not None and not {"nvidia", "cdi"}.intersection(runtimes):
        fix = "run nvidia-ctk runtime configure --runtime=docker, then restart Docker"
        yield Finding(part, "warning", f"{version[0]}, but Docker is not configured to use it", fix)
    else:
        yield Finding(part, "ok", version[0])


_SMALL = 2 * 1024**3
_SANDBOXES: dict[str, tuple[type[LocalSandbox], str]] = {
    "bubblewrap": (BubblewrapSandbox, "run apt install bubblewrap util-linux libseccomp2, or the equivalent"),
    "Docker": (DockerSandbox, "install and start Docker, then run make image; or use --sandbox bubblewrap"),
}
"""The class of each sandbox, and how to fix it."""


def check_share(settings: SandboxSettings, out: Path, slots: int) -> Iterator[Finding]:
    """Compare what one script may use, of as many as there are slots, with what the machine has."""
    share, total = share_of(settings, out, parallel=slots), usable_memory()
    result = (
        f"each script may use {share.memory_bytes / 1024**3:.1f} of {total / 1024**3:.1f} GiB of memory and {share.cpus} of "
        f"{usable_cpus()} cores, and write {share.written_bytes / 1e9:.0f} GB"
    )
    if share.memory_bytes * slots > total:
        yield Finding("machine", "warning", result, "set memory_gb under [sandbox] to the machine's memory or less")
    elif share.memory_bytes < _SMALL:
        yield Finding("machine", "warning", result, "most machine-learning libraries need at least 2 GiB of memory")
    else:
        yield Finding("machine", "ok", result)


def check_sandboxes(settings: SandboxSettings, instance: str, *, is_required: bool) -> Iterator[Finding]:
    """Check the packages of scripts, run a script in each sandbox, and check that one works if it is required."""
    environment: ScriptEnvironment | None = None
    try:
        environment = chosen_environment(settings.environments_folder, settings.environment)
    except UsageError as error:
        fix = f"run bot env create {settings.environment}, or set a different environment under [sandbox]"
        yield Finding("environment", "fails", str(error), fix)
    else:
        if environment is not None:
            yield Finding("environment", "ok", f"{environment.name}: {environment.summary()}")
        else:
            result = "none: scripts use the bot's packages, which lack LightGBM, XGBoost, CatBoost and torch"
            yield Finding(
                "environment", "warning", result, "run bot env create --with text (or tabular, vision, audio, all)"
            )
    working = []
    for part, (back_end, fix) in _SANDBOXES.items():
        sandbox = back_end(instance, settings, environment)
        if problem := sandbox.problem():
            yield Finding(part, "warning", problem, fix)
            continue
        working.append(part)
        gaps = [gap for gap in sandbox.describe().gaps if "libseccomp" in gap]
        yield Finding(part, "warning" if gaps else "ok", "; ".join(("runs scripts", *gaps)), fix if gaps else None)
    if working:
        yield Finding("isolation", "ok", " and ".join(working))
    else:
        result = "no sandbox works, so only scripts from the built-in model can run"
        yield Finding("isolation", "fails" if is_required else "warning", result, "fix bubblewrap or Docker, see above")


def check_disk(out: Path, settings: DiskSettings) -> Iterator[Finding]:
    """Compare the free space where runs are written with what a run needs."""
    free = free_bytes(out) / 1e9
    fix = None if free >= settings.free_gb else f"a run needs {settings.free_gb:g} GB free: run bot prune {out}"
    yield Finding("disk", "fails" if fix else "ok", f"{free:.1f} GB free for {out}", fix)


def check_database(out: Path) -> Iterator[Finding]:
    """Create a database where runs are written, and remove it."""
    existing = nearest(out)
    try:
        with tempfile.TemporaryDirectory(prefix=".bot-doctor-", dir=existing) as folder:
            Store.open(Path(folder) / "state.db", SystemClock()).close()
    except (OSError, SQLAlchemyError, BotError) as error:
        fix = f"make {existing} writable; it must be on a local disk"
        yield Finding("database", "fails", f"cannot create a database in {existing}: {error}", fix)
    else:
        yield Finding("database", "ok", f"SQLite works in {existing}")


def check_leases() -> Iterator[Finding]:
    """Acquire and release a lock in the folder of all the machine's leases."""
    try:
        folder = leases_folder()
        if lock := try_lock(folder / f"doctor-{os.getpid()}"):
            lock.release(remove=True)
    except OSError as error:
        yield Finding("leases", "fails", str(error), "set BOT_LEASES to a writable folder on a local disk")
    else:
        yield Finding("leases", "ok", f"core and GPU leases work in {folder}")
