"""The reasons that an ending is given, and the cheap rules that end a script."""

from dataclasses import replace
from pathlib import Path

import pytest

from sandbox import Breach, ExecutionRequest, ExitReason, Limits, ResourceUsage
from sandbox.execution import Verdict, reach_verdict
from sandbox.output import CappedOutput
from sandbox.rules import Rules, RuleSettings
from sandbox.running import ProcessExit
from sandbox.supervise import Ending


def verdict(
    code: int | None,
    text: str = "",
    engine: str = "",
    breach: Breach | None = None,
    *,
    out_of_memory: bool = False,
    **more: bool,
) -> Verdict:
    output = CappedOutput(10_000)
    output.add(text.encode())
    ending = Ending(ProcessExit(code, out_of_memory=out_of_memory), 1.0, output, engine, breach)
    return reach_verdict(ending, Limits(5), **{"host_oom": False, "disk_full": False, **more})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("MemoryError\n", ExitReason.OUT_OF_MEMORY),
        ("numpy.core._exceptions._ArrayMemoryError: Unable to allocate 7 GiB\n", ExitReason.OUT_OF_MEMORY),
        ("terminate called after throwing an instance of 'std::bad_alloc'\n", ExitReason.OUT_OF_MEMORY),
        ("OSError: [Errno 27] File too large\n", ExitReason.DISK_LIMIT),
        ("OSError: [Errno 28] No space left on device\n", ExitReason.DISK_LIMIT),
        ("BlockingIOError: [Errno 11] Resource temporarily unavailable\n", ExitReason.PROCESS_LIMIT),
        ("RuntimeError: can't start new thread\n", ExitReason.PROCESS_LIMIT),
        ("ValueError: a MemoryError it is not\n", ExitReason.ERROR),
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0\n",
            ExitReason.GPU_OUT_OF_MEMORY,
        ),
        ("torch.cuda.OutOfMemoryError: CUDA out of memory.\n", ExitReason.GPU_OUT_OF_MEMORY),
        ("RuntimeError: CUDA error: out of memory\nCUDA kernel errors might\n", ExitReason.GPU_OUT_OF_MEMORY),
        (
            "numba...CudaAPIError: [2] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY\n",
            ExitReason.GPU_OUT_OF_MEMORY,
        ),
        (
            "xgboost.core.XGBoostError: [10:14:51] device_helpers.cu:12: Memory allocation error on worker 0: "
            "std::bad_alloc: cudaErrorMemoryAllocation: out of memory\n",
            ExitReason.GPU_OUT_OF_MEMORY,
        ),
        (
            "lightgbm.basic.LightGBMError: [CUDA] out of memory /src/cuda/cuda_utils.cpp 12\n",
            ExitReason.GPU_OUT_OF_MEMORY,
        ),
        ("_catboost.CatBoostError: catboost/cuda/a.cpp: CUDA error 2: out of memory\n", ExitReason.GPU_OUT_OF_MEMORY),
        ("xgboost.core.XGBoostError: std::bad_alloc: out of memory\n", ExitReason.OUT_OF_MEMORY),
        ("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes\n", ExitReason.OUT_OF_MEMORY),
        ("no CUDA GPUs are available\n", ExitReason.ERROR),
    ],
)
def test_an_error_that_comes_of_a_limit_is_recognized_by_its_last_lines(text: str, reason: ExitReason) -> None:
    assert verdict(1, text).reason is reason


def test_a_full_disk_is_the_engines_failure() -> None:
    text = "OSError: [Errno 28] No space left on device\n"
    assert verdict(1, text, disk_full=True).reason is ExitReason.INFRASTRUCTURE


def test_a_kill_by_the_kernel_for_memory_is_out_of_memory() -> None:
    assert verdict(137, host_oom=True).reason is ExitReason.OUT_OF_MEMORY
    assert verdict(137).detail == "It was killed by SIGKILL."


def test_a_process_killed_for_memory_is_the_reason_of_a_failure_and_a_note_on_a_good_end() -> None:
    assert verdict(1, out_of_memory=True).reason is ExitReason.OUT_OF_MEMORY
    finished = verdict(0, out_of_memory=True)
    assert finished.reason is ExitReason.FINISHED
    assert finished.notes == ["Part of the script ran out of memory, but it exited normally."]
    late = verdict(137, breach=Breach(ExitReason.TIMED_OUT, "late"), out_of_memory=True)
    assert (late.reason, len(late.notes)) == (ExitReason.TIMED_OUT, 1)


def test_a_breach_comes_before_the_output() -> None:
    breach = Breach(ExitReason.TIMED_OUT, "late")
    assert verdict(137, "MemoryError\n", breach=breach) == Verdict(ExitReason.TIMED_OUT, "late")


def test_a_process_that_cannot_be_ended_is_the_engines_failure() -> None:
    assert verdict(None).reason is ExitReason.INFRASTRUCTURE


def test_a_warning_of_the_engine_does_not_spoil_a_good_end() -> None:
    assert verdict(0, engine="a warning").reason is ExitReason.FINISHED


GB = 1000**3


def request() -> ExecutionRequest:
    return ExecutionRequest("test", "fit()", Path("view"), Path("out"), Limits(3600.0))


def still(rules: Rules, seconds: float, **more: object) -> Breach | None:
    """Measure once a minute while nothing changes."""
    usage = ResourceUsage(0.0, cpu_seconds=7.0, written_bytes=10)
    for minute in range(int(seconds // 60) + 1):
        if breach := rules.usage(replace(usage, seconds=60.0 * minute, **more)):  # type: ignore[arg-type]  # of Usage
            return breach
    return None


def test_a_script_that_neither_prints_nor_works_is_ended() -> None:
    breach = still(Rules(RuleSettings(), request()), 700)
    assert "printed nothing and used no CPU time for 10 minutes" in breach.detail


def test_silent_work_is_work() -> None:
    rules = Rules(RuleSettings(), request())
    for minute in range(60):
        assert rules.usage(ResourceUsage(60.0 * minute, cpu_seconds=3.0 * minute)) is None
    assert still(Rules(RuleSettings(), request()), 3000, cpu_seconds=None) is None
    assert still(Rules(RuleSettings(), request()), 3000, gpu_busy=0.4) is None
    assert still(Rules(RuleSettings(silent_minutes=0), request()), 3000) is None
    assert still(Rules(RuleSettings(), replace(request(), idle=True)), 3000) is None


def test_a_print_now_and_then_is_a_sign_of_life() -> None:
    rules = Rules(RuleSettings(), request())
    for minute in range(60):
        if minute % 9 == 0:
            rules.output(b".")
        assert rules.usage(ResourceUsage(60.0 * minute, cpu_seconds=0.0)) is None


def test_a_script_that_fills_the_disk_is_ended_and_one_that_wrote_little_is_not() -> None:
    def rules() -> Rules:
        return Rules(RuleSettings(), request(), free=lambda folder: 100_000_000)

    breach = rules().usage(ResourceUsage(5.0, cpu_seconds=5.0, written_bytes=GB))
    assert "only 100000000 are free on the run folder" in breach.detail
    assert rules().usage(ResourceUsage(5.0, cpu_seconds=5.0, written_bytes=1000)) is None
    roomy = Rules(RuleSettings(), request(), free=lambda folder: 50 * GB)
    assert roomy.usage(ResourceUsage(5.0, cpu_seconds=5.0, written_bytes=GB)) is None
