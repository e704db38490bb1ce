"""A stand-in for NVIDIA's library: the functions of `pynvml` that we call, with its units and its error."""

from dataclasses import dataclass, field
from types import SimpleNamespace

GIB = 1024**3


@dataclass
class FakeGpu:
    """One GPU, whose state a test changes."""

    uuid: str
    used: int = GIB
    busy: int = 0
    """Percent."""
    processes: list[int] = field(default_factory=list)
    supported: bool = True


class FakeNvml:
    """As the module `pynvml`."""

    class NVMLError(Exception):
        """As the library's."""

    def __init__(self, *gpus: FakeGpu) -> None:
        self.gpus = gpus
        self.open = 0

    def nvmlInit(self) -> None:
        if not self.gpus:
            raise self.NVMLError("Driver Not Loaded")
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1

    def nvmlSystemGetDriverVersion(self) -> str:
        return "550.54.15"

    def nvmlDeviceGetCount(self) -> int:
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> FakeGpu:
        return self.gpus[index]

    def nvmlDeviceGetUUID(self, handle: FakeGpu) -> str:
        return handle.uuid

    def nvmlDeviceGetName(self, handle: FakeGpu) -> str:
        return "NVIDIA Fake"

    def nvmlDeviceGetMinorNumber(self, handle: FakeGpu) -> int:
        return self.gpus.index(handle)

    def nvmlDeviceGetMemoryInfo(self, handle: FakeGpu) -> SimpleNamespace:
        self._check(handle)
        return SimpleNamespace(total=80 * GIB, used=handle.used, free=80 * GIB - handle.used)

    def nvmlDeviceGetUtilizationRates(self, handle: FakeGpu) -> SimpleNamespace:
        self._check(handle)
        return SimpleNamespace(gpu=handle.busy, memory=0)

    def nvmlDeviceGetComputeRunningProcesses(self, handle: FakeGpu) -> list[SimpleNamespace]:
        self._check(handle)
        return [SimpleNamespace(pid=pid, usedGpuMemory=GIB) for pid in handle.processes]

    def _check(self, handle: FakeGpu) -> None:
        if not handle.supported:
            raise self.NVMLError("Not Supported")
