"""Checks of GPUs: driver, device files, and NVIDIA's container toolkit."""

import re
import shutil
import subprocess
from collections.abc import Collection, Iterator
from pathlib import Path

from bot.doctor import Finding
from sandbox.gpu import Gpus, device_files
from sandbox.image.engine import ENGINE_FAILURES, connect

_UNSAFE = (1, 17, 7)
"""Last version of the toolkit with a known escape from a container (CVE-2025-23266)."""


def check_gpus(gpus: Gpus) -> Iterator[Finding]:
    """List the GPUs, and check what scripts need to reach them."""
    if gpus.driver is None:
        yield Finding("GPU", "ok", "no NVIDIA driver: scripts run on the CPU")
    elif not gpus.all():
        fix = "a variable CUDA_VISIBLE_DEVICES in the bot's environment may hide them; see nvidia-smi"
        yield Finding("GPU", "warning", f"driver {gpus.driver}, no GPU", fix)
    else:
        listed = ", ".join(f"{gpu.name} {gpu.memory_bytes / 1024**3:.0f} GiB ({gpu.uuid})" for gpu in gpus.all())
        yield Finding("GPU", "ok", f"driver {gpus.driver}: {listed}")
        yield from check_devices(gpus)
        yield from check_toolkit(_engine_runtimes())


def check_devices(gpus: Gpus, folder: Path = Path("/dev")) -> Iterator[Finding]:
    """Check the device files by which scripts under bubblewrap reach a GPU."""
    files = device_files(gpus, [gpu.uuid for gpu in gpus.all()], folder)
    required = {f"nvidia{gpu.minor}" for gpu in gpus.all()} | {"nvidiactl", "nvidia-uvm"}
    if missing := sorted(required - {file.name for file in files}):
        fix = "run nvidia-modprobe -u -c=0 as root (nvidia-smi makes the others)"
        yield Finding("GPU devices", "warning", f"missing: {', '.join(missing)}", fix)
    elif closed := [file.name for file in files if file.stat().st_mode & 0o006 != 0o006]:
        fix = "set the driver's NVreg_DeviceFileMode to 0666, since scripts may run as another user"
        yield Finding("GPU devices", "warning", f"not readable by every user: {', '.join(closed)}", fix)
    else:
        yield Finding("GPU devices", "ok", ", ".join(sorted(file.name for file in files)))


def check_toolkit(runtimes: Collection[str] | None) -> Iterator[Finding]:
    """Check the toolkit that brings GPUs into containers, and that the Docker engine's runtimes (None: no engine) have it."""
    part, tool = "NVIDIA toolkit", shutil.which("nvidia-ctk")
    said = subprocess.run([tool or "true", "--version"], capture_output=True, text=True, timeout=30, check=False).stdout
    version = re.search(r"(\d+)\.(\d+)\.(\d+)", said) if tool else None
    if version is None or tuple(map(int, version.groups())) <= _UNSAFE:
        found = f"{version[0]}, from which code may leave its container" if version else "not installed"
        fix = "for GPUs in containers install nvidia-container-toolkit 1.17.8 or later; bubblewrap does not need it"
        yield Finding(part, "warning", found, fix)
    elif runtimes is not None and not {"nvidia", "cdi"}.intersection(runtimes):
        fix = "nvidia-ctk runtime configure --runtime=docker, then restart the engine"
        yield Finding(part, "warning", f"{version[0]}, which the Docker engine does not know", fix)
    else:
        yield Finding(part, "ok", version[0])


def _engine_runtimes() -> Collection[str] | None:
    try:
        with connect() as engine:
            return list(engine.info().get("Runtimes", {}))
    except ENGINE_FAILURES:
        return None
