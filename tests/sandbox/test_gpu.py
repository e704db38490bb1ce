"""GPUs: which there are, leases on them, what an execution uses. The driver's library is a stand-in."""

import asyncio
import inspect
import sys
from pathlib import Path

import pynvml
import pytest

from sandbox import Breach, ExitReason, ResourceUsage, Sandbox
from sandbox import Lease as LeaseOf
from sandbox.gpu import GpuMeter, Gpus, device_files, open_gpus
from sandbox.leases import Leases
from state.errors import InfrastructureFailure
from tests import needs
from tests.sandbox.conftest import make_request
from tests.sandbox.fake_nvml import GIB, FakeGpu, FakeNvml

A, B = "GPU-aaaa", "GPU-bbbb"


def two(first: FakeGpu | None = None) -> Gpus:
    return Gpus(FakeNvml(first or FakeGpu(A), FakeGpu(B)))


def held(leases: Leases, seconds: float = 0.1, gpus: int = 1, say=None):
    return leases.hold(1, gpus, seconds=seconds, say=say)


def test_a_machine_without_a_driver_has_no_gpu() -> None:
    with open_gpus() as gpus:  # the real library: it is not fooled by what it does not find
        assert len(gpus.all()) == (0 if gpus.driver is None else len(gpus.all()))
    assert Gpus().all() == ()


def test_gpus_are_named_by_uuid_and_a_cluster_may_allow_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", nvml := FakeNvml(FakeGpu(A), FakeGpu(B)))
    for value, wanted in (
        (None, [A, B]),
        ("1", [B]),
        ("GPU-b", [B]),
        ("1,0", [B, A]),
        ("", []),
        ("-1", []),
        ("7,0", []),
    ):
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        if value is not None:
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", value)
        with open_gpus() as gpus:
            assert [gpu.uuid for gpu in gpus.all()] == wanted, value
    assert nvml.open == 0, "each use of the library is ended"


def test_the_stand_in_has_nothing_that_the_real_library_has_not() -> None:
    names = [name for name in vars(FakeNvml) if name.startswith("nvml")]
    assert len(names) > 8
    for name in names:
        real = inspect.signature(getattr(pynvml, name)).parameters.values()
        ours = list(inspect.signature(getattr(FakeNvml, name)).parameters)[1:]
        required = [one for one in real if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD]
        assert len(required) <= len(ours) <= len(real) or any(one.kind is one.VAR_POSITIONAL for one in real), name
    memory = {name for name, _ in pynvml.c_nvmlMemory_t._fields_}
    assert {"total", "used", "free"} <= memory
    assert {"gpu", "memory"} <= {name for name, _ in pynvml.c_nvmlUtilization_t._fields_}
    assert "pid" in {name for name, _ in pynvml.c_nvmlProcessInfo_v3_t._fields_}


async def test_a_gpu_belongs_to_one_execution_at_a_time(tmp_path: Path) -> None:
    leases, others = Leases(tmp_path, gpus=two()), Leases(tmp_path, gpus=two())
    async with leases.hold(0, 1, seconds=1) as one:
        assert one.gpus == (A,)
        others._cores = [100, 101]
        async with held(others) as two_:
            assert two_.gpus == (B,)
            with pytest.raises(InfrastructureFailure, match="GPU"):
                async with held(others):
                    pass
    async with held(leases, gpus=2) as both:
        assert both.gpus == (A, B)


async def test_more_gpus_than_there_are_is_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureFailure, match=r"annot lease 3 GPUs: this machine has 2"):
        async with held(Leases(tmp_path, gpus=two()), seconds=60, gpus=3):
            pass


async def test_a_configured_share_is_kept_and_never_mixed_with_whole_leases(tmp_path: Path) -> None:
    one = Gpus(FakeNvml(FakeGpu(A)))
    shared = [Leases(tmp_path, cores=[core], gpus=one, gpu_shares=2) for core in range(3)]
    alone = Leases(tmp_path, cores=[9], gpus=one)
    async with held(shared[0]), held(shared[1]):
        for third in (shared[2], alone):
            with pytest.raises(InfrastructureFailure):
                async with held(third):
                    pass
    async with held(alone):
        with pytest.raises(InfrastructureFailure):
            async with held(shared[0]):
                pass


async def test_who_waits_for_a_gpu_does_not_keep_others_from_cores(tmp_path: Path) -> None:
    gpus = Gpus(FakeNvml(FakeGpu(A)))
    leases = Leases(tmp_path, cores=[0, 1], gpus=gpus)
    async with held(leases):
        waiting = asyncio.create_task(held(leases, seconds=60).__aenter__())
        await asyncio.sleep(0.05)
        async with leases.hold(1, seconds=1) as lease:
            assert lease == LeaseOf((1,))
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting


async def test_a_gpu_on_which_somebody_else_computes_is_not_given_away(tmp_path: Path) -> None:
    gpu = FakeGpu(A, processes=[4711])
    gpus = two(gpu)
    async with held(Leases(tmp_path, gpus=gpus)) as lease:
        assert lease.gpus == (B,)
    gpus_of_one = Gpus(FakeNvml(gpu))
    with pytest.raises(InfrastructureFailure, match="GPU-aaaa is used by process 4711"):
        async with held(Leases(tmp_path, gpus=gpus_of_one)):
            pass


async def test_a_gpu_goes_on_only_when_its_memory_is_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = FakeGpu(A)
    leases = Leases(tmp_path, gpus=Gpus(FakeNvml(gpu)))

    async def free_later() -> None:
        await asyncio.sleep(0.2)
        gpu.used = GIB

    async with held(leases):
        gpu.used = 40 * GIB
        freeing = asyncio.create_task(free_later())
    assert freeing.done(), "the lease ended after the memory was back"
    async with held(leases):
        pass


async def test_a_gpu_whose_memory_does_not_come_back_is_withheld_with_a_word_and_given_again_when_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sandbox.leases._MEMORY_BACK", 0.1)
    gpu, sentences = FakeGpu(A), []
    leases, others = (Leases(tmp_path, gpus=Gpus(FakeNvml(gpu))) for _ in range(2))
    async with held(leases, say=sentences.append):
        gpu.used = 40 * GIB
    assert "GPU-aaaa is withheld" in sentences[0]
    for bot in (leases, others):
        with pytest.raises(InfrastructureFailure):
            async with held(bot):
                pass
    gpu.used = GIB
    async with held(leases) as lease:
        assert lease.gpus == (A,)


def test_a_meter_reports_memory_beyond_the_start_and_work_on_average() -> None:
    first, second = FakeGpu(A), FakeGpu(B, used=3 * GIB)
    meter = GpuMeter(Gpus(FakeNvml(first, second)), [A, B])
    first.used, first.busy = 11 * GIB, 100
    assert meter.measure() == 0.5
    first.used = GIB
    assert meter.measure() == 0.5
    assert meter.peak_bytes == 10 * GIB
    second.supported = False
    assert (meter.measure(), meter.peak_bytes) == (1.0, 10 * GIB)


def test_only_the_leased_gpus_files_are_shown(tmp_path: Path) -> None:
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"):
        (tmp_path / name).touch()
    assert [path.name for path in device_files(two(), [B], tmp_path)] == ["nvidia1", "nvidiactl", "nvidia-uvm"]


class Onlooker:
    """Keeps the measures, and sets the GPU's memory as a script would."""

    def __init__(self, gpu: FakeGpu) -> None:
        self.gpu, self.seen = gpu, []

    def output(self, chunk: bytes) -> None:
        self.gpu.used, self.gpu.busy = 9 * GIB, 50

    def usage(self, usage: ResourceUsage) -> Breach | None:
        self.seen.append(usage)
        return None


@pytest.mark.parametrize("sandbox", ["process", "bubblewrap"], indirect=True)  # an engine asks the driver for it
async def test_an_execution_sees_its_gpus_and_its_outcome_their_peak(sandbox, place, monkeypatch) -> None:
    gpu = FakeGpu(A)
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(gpu, FakeGpu(B)))
    script = """
        import os, time
        print(os.environ["BOT_GPUS"], os.environ["CUDA_VISIBLE_DEVICES"], flush=True)
        time.sleep(0.7)
        raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB")
    """
    onlooker = Onlooker(gpu)
    outcome = await sandbox.run(make_request(place, script, lease=LeaseOf(gpus=(A,))), onlooker)
    assert outcome.output.startswith(f"1 {A}\n")
    assert outcome.reason is ExitReason.GPU_OUT_OF_MEMORY
    assert outcome.peak_gpu_memory_bytes == 8 * GIB
    assert str(8 * GIB) in (outcome.detail or "")
    assert onlooker.seen[-1].gpu_busy == 0.5


async def test_without_a_lease_a_script_sees_no_gpu(sandbox: Sandbox, place: Path) -> None:
    script = 'import glob, os; print(os.environ["BOT_GPUS"], repr(os.environ["CUDA_VISIBLE_DEVICES"]))'
    outcome = await sandbox.run(make_request(place, script))
    assert outcome.output == "0 ''\n"
    assert outcome.peak_gpu_memory_bytes is None


async def test_under_bubblewrap_a_leased_gpus_device_files_are_there_and_no_others(bubblewrap, place, monkeypatch):
    # Any device that is not among those which bubblewrap always shows will do for a GPU's.
    device = next((path for path in map(Path, ("/dev/kmsg", "/dev/loop-control", "/dev/fuse")) if path.exists()), None)
    if device is None:
        needs.missing("no device file here to stand in for a GPU's")
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(FakeGpu(A)))
    monkeypatch.setattr("sandbox.bubblewrap.leased_devices", lambda uuids: [device] if uuids else [])
    script = (
        f"import os, stat; print(os.path.exists({str(device)!r}) and stat.S_ISCHR(os.stat({str(device)!r}).st_mode))"
    )
    with_gpu = await bubblewrap.run(make_request(place, script, lease=LeaseOf(gpus=(A,))))
    without = await bubblewrap.run(make_request(place, script))
    assert (with_gpu.output, without.output) == ("True\n", "False\n")
