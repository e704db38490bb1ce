"""This machine's NVIDIA GPUs: their list, their usage, and the files by which a program reaches them."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LIBRARIES = Path("/usr/local/nvidia")
"""Folders of the driver's libraries in containers; elsewhere they are among the system's own."""
_DEV = Path("/dev")
_COMMON = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset")


@dataclass(frozen=True)
class Gpu:
    """One GPU."""

    uuid: str
    name: str
    memory_bytes: int
    minor: int
    """Its device file is /dev/nvidia<minor>."""


class Gpus:
    """The GPUs that this process may use, as the driver's own library (NVML) lists them."""

    def __init__(self, nvml: Any = None, allowed: str | None = None) -> None:
        """Take the library, initialised.

        Where there is no driver, there is no `pynvml`. `allowed` is the value of CUDA_VISIBLE_DEVICES, as a cluster
        sets it.
        """
        self._nvml = nvml
        self._handles: dict[str, Any] = {}
        self._gpus: tuple[Gpu, ...] = ()
        if nvml is not None:
            visible = [self._read(nvml.nvmlDeviceGetHandleByIndex(i)) for i in range(nvml.nvmlDeviceGetCount())]
            self._gpus = tuple(visible if allowed is None else _allowed(visible, allowed))

    def all(self) -> Sequence[Gpu]:
        """Return each, in the order of their slots."""
        return self._gpus

    @property
    def driver(self) -> str | None:
        """Version of the driver."""
        return None if self._nvml is None else str(self._nvml.nvmlSystemGetDriverVersion())

    def used_bytes(self, uuid: str) -> int | None:
        """Return the bytes of its memory that all programs use; None if unknown."""
        memory = self._ask("nvmlDeviceGetMemoryInfo", uuid)
        return None if memory is None else int(memory.used)

    def busy(self, uuid: str) -> float | None:
        """Return the share of the last moments, a second at most, in which it worked, 0 to 1."""
        rates = self._ask("nvmlDeviceGetUtilizationRates", uuid)
        return None if rates is None else rates.gpu / 100

    def processes(self, uuid: str) -> list[int]:
        """Return the ids of processes that compute on it, without those that only display."""
        running = self._ask("nvmlDeviceGetComputeRunningProcesses", uuid)
        return [int(process.pid) for process in running or ()]

    def _read(self, handle: Any) -> Gpu:
        nvml = self._nvml
        uuid = str(nvml.nvmlDeviceGetUUID(handle))
        self._handles[uuid] = handle
        memory = int(nvml.nvmlDeviceGetMemoryInfo(handle).total)
        return Gpu(uuid, str(nvml.nvmlDeviceGetName(handle)), memory, int(nvml.nvmlDeviceGetMinorNumber(handle)))

    def _ask(self, function: str, uuid: str) -> Any:
        try:
            return getattr(self._nvml, function)(self._handles[uuid])
        except self._nvml.NVMLError:  # not supported by this GPU, or it is lost
            return None


@contextmanager
def open_gpus() -> Iterator[Gpus]:
    """Yield the machine's GPUs; none if there is no driver."""
    import pynvml  # large, and most machines have no GPU

    nvml: Any = pynvml
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:
        nvml = None
    try:
        yield Gpus(nvml, os.environ.get("CUDA_VISIBLE_DEVICES"))
    finally:
        if nvml is not None:
            nvml.nvmlShutdown()


class GpuMeter:
    """The GPU usage of one execution: memory beyond what was in use when it began, and the share of time they work."""

    def __init__(self, gpus: Gpus, uuids: Sequence[str]) -> None:
        self._gpus = gpus
        self._uuids = uuids
        self._before = self._memory()
        self.peak_bytes: int | None = None
        """Most memory seen, all GPUs together; None as long as nothing was measured."""

    def measure(self) -> float | None:
        """Measure the memory; return the share of time in which the GPUs worked, on average."""
        now = self._memory()
        if now is not None and self._before is not None:
            self.peak_bytes = max(0, now - self._before, self.peak_bytes or 0)
        shares = [share for uuid in self._uuids if (share := self._gpus.busy(uuid)) is not None]
        return sum(shares) / len(shares) if shares else None

    def _memory(self) -> int | None:
        sizes = [self._gpus.used_bytes(uuid) for uuid in self._uuids]
        readable = [size for size in sizes if size is not None]
        return sum(readable) if readable and len(readable) == len(sizes) else None


@contextmanager
def metered(uuids: Sequence[str]) -> Iterator[GpuMeter | None]:
    """Yield a meter of these GPUs; None if there are none."""
    if not uuids:
        yield None
        return
    with open_gpus() as gpus:
        uuids_here = {gpu.uuid for gpu in gpus.all()}
        yield GpuMeter(gpus, uuids) if uuids_here.issuperset(uuids) else None


def leased_devices(uuids: Sequence[str]) -> list[Path]:
    """Return the device files of leased GPUs, as the driver numbers them now."""
    if not uuids:
        return []
    with open_gpus() as gpus:
        return device_files(gpus, uuids)


def library_folders() -> list[Path]:
    """Return the folders of the driver's libraries, if not among the system's own."""
    return [LIBRARIES / name for name in ("lib64", "lib") if (LIBRARIES / name).is_dir()]


def device_files(gpus: Gpus, uuids: Sequence[str], folder: Path = _DEV) -> list[Path]:
    """Return the device files that a program needs for these GPUs, and no other GPU's."""
    devices = [folder / f"nvidia{gpu.minor}" for gpu in gpus.all() if gpu.uuid in uuids]
    return [path for path in (*devices, *(folder / name for name in _COMMON)) if path.exists()]


def _allowed(gpus: Sequence[Gpu], names: str) -> list[Gpu]:
    """Return those that CUDA_VISIBLE_DEVICES allows; like CUDA, stop at the first unknown name."""
    gpus_allowed: list[Gpu] = []
    for name in names.split(","):
        gpu_named = gpus[int(name)] if name.strip().isdecimal() and int(name) < len(gpus) else None
        gpu_named = gpu_named or next((gpu for gpu in gpus if name.strip() and gpu.uuid.startswith(name.strip())), None)
        if gpu_named is None:
            break
        gpus_allowed.append(gpu_named)
    return gpus_allowed
