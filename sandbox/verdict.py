"""The verdict on why an execution ended, from its exit code, the exceeded limit, and the last lines of its output."""

import re
import signal
from dataclasses import dataclass, field

from sandbox import ExitReason, Limits
from sandbox.supervise import Ending

_TAIL = 4000
_NO_MEMORY = re.compile(
    r"^[\w.]*MemoryError\b|std::bad_alloc|Cannot allocate memory|can't allocate memory", re.MULTILINE
)
_NO_GPU_MEMORY = re.compile(
    r"torch(?:\.cuda)?\.OutOfMemoryError|cupy[\w.]*OutOfMemoryError|CUDA\]? (?:error(?: \d+)?: )?out of memory"
    r"|cudaErrorMemoryAllocation|CUDA_ERROR_OUT_OF_MEMORY|CUBLAS_STATUS_ALLOC_FAILED|CUDNN_STATUS_ALLOC_FAILED"
    r"|OOM when allocating .*GPU|Memory Object Allocation Failure",
    re.IGNORECASE,
)
"""The messages of torch, CuPy, CUDA's runtime, driver and libraries, TensorFlow and OpenCL (LightGBM)."""
_BOOSTING = re.compile(r"^[\w.]*(?:XGBoost|LightGBM|CatBoost)Error: .*", re.MULTILINE | re.DOTALL)
_FILE_TOO_LARGE = re.compile(r"^OSError: \[Errno 27\]", re.MULTILINE)
_NO_SPACE = re.compile(r"^OSError: \[Errno 28\]", re.MULTILINE)
_NO_PROCESS = re.compile(r"^BlockingIOError: \[Errno 11\]|can't start new thread", re.MULTILINE)
_KILLED = 128 + signal.SIGKILL


@dataclass(frozen=True)
class Verdict:
    """The reason, a sentence on it, and oddities."""

    reason: ExitReason
    detail: str | None = None
    notes: list[str] = field(default_factory=list)


def reach_verdict(ending: Ending, limits: Limits, *, host_oom: bool, disk_full: bool) -> Verdict:
    """Return why it ended.

    `host_oom`: the kernel killed for memory anywhere on the machine meanwhile. `disk_full`: the disk of the working
    folder is.
    """
    if ending.reaped.exit_code is None:
        return Verdict(ExitReason.INFRASTRUCTURE, "A process could not be killed: it hangs in the kernel.")
    if ending.engine and ending.reaped.exit_code != 0 and ending.breach is None:
        return Verdict(ExitReason.INFRASTRUCTURE, f"The sandbox could not start the script: {ending.engine}")
    tail = ending.output.text()[-_TAIL:]
    no_gpu_memory = _lacks_gpu_memory(tail)
    if ending.breach is not None:
        killed = ["One of its processes was killed for memory earlier."] if ending.reaped.out_of_memory else []
        return Verdict(ending.breach.reason, ending.breach.detail, killed)
    if ending.reaped.exit_code == 0:
        is_spent = ending.reaped.out_of_memory or _NO_MEMORY.search(tail) or no_gpu_memory
        return Verdict(
            ExitReason.FINISHED, None, ["Part of it ran out of memory, but it exited normally."] if is_spent else []
        )
    if ending.reaped.out_of_memory:
        detail = f"It or a process that it started was killed for memory; {limits.memory_bytes} bytes allowed."
        return Verdict(ExitReason.OUT_OF_MEMORY, detail)
    if no_gpu_memory:
        peak = ending.peak_gpu_memory_bytes
        peak_text = "." if peak is None else f"; it used up to {peak} bytes."
        return Verdict(ExitReason.GPU_OUT_OF_MEMORY, f"It was refused more memory of its GPU{peak_text}")
    return _error(ending.reaped.exit_code, tail, limits, host_oom=host_oom, disk_full=disk_full)


def _error(code: int, tail: str, limits: Limits, *, host_oom: bool, disk_full: bool) -> Verdict:
    if _NO_SPACE.search(tail) and disk_full:
        return Verdict(ExitReason.INFRASTRUCTURE, "The disk of the working folder is full.")
    if _NO_MEMORY.search(tail):
        return Verdict(ExitReason.OUT_OF_MEMORY, f"It was refused more memory; {limits.memory_bytes} bytes allowed.")
    if code == _KILLED and host_oom:
        return Verdict(ExitReason.OUT_OF_MEMORY, "The system ran out of memory and killed it.")
    if _FILE_TOO_LARGE.search(tail) or _NO_SPACE.search(tail):
        return Verdict(ExitReason.DISK_LIMIT, f"It may write {limits.written_bytes} bytes of files.")
    if _NO_PROCESS.search(tail):
        return Verdict(ExitReason.PROCESS_LIMIT, f"It may run {limits.processes} processes and threads at once.")
    if code > 128:
        return Verdict(ExitReason.ERROR, f"It was killed by {_signal_name(code - 128)}.")
    return Verdict(ExitReason.ERROR)


def _lacks_gpu_memory(tail: str) -> bool:
    if _NO_GPU_MEMORY.search(tail):
        return True
    error = _BOOSTING.search(tail)
    message = error[0].lower() if error else ""
    return "cuda" in message and any(words in message for words in ("out of memory", "bad_alloc", "allocation error"))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"exit status {128 + number}"
