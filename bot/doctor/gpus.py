"""Checks of GPUs: driver, NVIDIA's container toolkit, and the Docker engine's access to them."""

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bot.doctor import Check
from sandbox.gpu import Gpus, device_files

_UNSAFE = (1, 17, 7)
"""Last version of the toolkit with a known escape from a container (CVE-2025-23266)."""


def check_gpus(gpus: Gpus) -> Check:
    """List the GPUs and the driver's version."""
    if gpus.driver is None:
        return Check("GPU", "ok", "no NVIDIA driver: scripts run on the CPU")
    if not gpus.all():
        fix = "a variable CUDA_VISIBLE_DEVICES in the bot's environment may hide them; see nvidia-smi"
        return Check("GPU", "warning", f"driver {gpus.driver}, no GPU", fix)
    listed = ", ".join(f"{gpu.name} {gpu.memory_bytes / 1024**3:.0f} GiB ({gpu.uuid})" for gpu in gpus.all())
    return Check("GPU", "ok", f"driver {gpus.driver}: {listed}")


def check_devices(gpus: Gpus, folder: Path = Path("/dev")) -> Check:
    """Check the device files by which scripts under bubblewrap reach a GPU; only called if there is one."""
    files = device_files(gpus, [gpu.uuid for gpu in gpus.all()], folder)
    names = {file.name for file in files}
    wanted = {f"nvidia{gpu.minor}" for gpu in gpus.all()} | {"nvidiactl", "nvidia-uvm"}
    if missing := sorted(wanted - names):
        fix = (
            "run nvidia-modprobe -u -c=0 as root (nvidia-smi makes the others); a sandbox may not load missing modules"
        )
        return Check("GPU devices", "warning", f"missing: {', '.join(missing)}", fix)
    if closed := [file.name for file in files if file.stat().st_mode & 0o006 != 0o006]:
        fix = "scripts may run as another user: set the driver's NVreg_DeviceFileMode to 0666"
        return Check("GPU devices", "warning", f"not for everybody: {', '.join(closed)}", fix)
    return Check("GPU devices", "ok", ", ".join(sorted(names)))


def check_toolkit(engine: Mapping[str, Any] | None) -> Check:
    """Check the toolkit that brings GPUs into containers; only called if there is a GPU.

    Args:
        engine: what the Docker engine reports of itself; None without one.
    """
    version = toolkit_version()
    install = "install nvidia-container-toolkit 1.17.8 or later; bubblewrap does not need it"
    if version is None:
        return Check("NVIDIA toolkit", "warning", "nvidia-ctk is not installed: no GPU in containers", install)
    found = ".".join(map(str, version))
    if version <= _UNSAFE:
        return Check("NVIDIA toolkit", "warning", f"{found}, from which code may leave its container", install)
    if engine is not None and not {"nvidia", "cdi"} & set(engine.get("Runtimes", {})):
        fix = "nvidia-ctk runtime configure --runtime=docker, then restart the engine"
        return Check("NVIDIA toolkit", "warning", f"{found}, which the Docker engine does not know", fix)
    return Check("NVIDIA toolkit", "ok", found)


def toolkit_version() -> tuple[int, ...] | None:
    """Return the version of NVIDIA's container toolkit; None if it is not installed."""
    tool = shutil.which("nvidia-ctk")
    if tool is None:
        return None
    done = subprocess.run([tool, "--version"], capture_output=True, text=True, timeout=30, check=False)
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", done.stdout)
    return tuple(int(part) for part in found.groups()) if found else None
