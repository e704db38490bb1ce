"""A run's leases: what is waited for, what that costs, and a whole run that has to wait."""

import asyncio
import json
import re
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot.cli import app
from bot.coder.lab.leases import LabLease
from bot.execution.leasing import RunLeases
from bot.execution.stopwatch import Stopwatch
from sandbox import ExecutionRequest, Lease, Limits
from sandbox.leases import Leases
from sandbox.locks import try_lock
from tests.bot.replay.conftest import light
from tests.sandbox.fake_nvml import FakeGpu, FakeNvml
from tests.tiny_snapshot import write_tiny

__all__ = ["light"]


def a_request(seconds: float) -> ExecutionRequest:
    return ExecutionRequest("one", "", Path("view"), Path("out"), Limits(seconds))


async def test_waiting_is_no_overhead_and_takes_nothing_off_a_scripts_time_that_the_run_has(tmp_path: Path) -> None:
    stopwatch = Stopwatch()
    held = try_lock(tmp_path / "cpu-0")
    assert held is not None
    timer, said = threading.Timer(0.8, held.release), list[str]()
    leasing = RunLeases(Leases(tmp_path, cores=[0]), 1, 0, lambda: 100.0, stopwatch, said.append)
    timer.start()
    async with leasing.hold() as lease:
        assert leasing.leased(a_request(60), lease) == ExecutionRequest(
            "one", "", Path("view"), Path("out"), Limits(60), lease=Lease((0,))
        )
    timer.join()
    assert stopwatch.seconds_of("waiting") >= 0.6
    assert stopwatch.overhead() < 0.4
    assert len(said) == 2 and said[0].startswith("waiting since") and said[1].startswith("running")


async def test_a_run_that_has_waited_long_enough_shares_cores_from_then_on(tmp_path: Path) -> None:
    """Each of the first three scripts of a run of three minutes waited for eight seconds."""
    said: list[str] = []
    leasing = RunLeases(Leases(tmp_path, cores=[0]), 1, 0, lambda: 100.0, Stopwatch(), said.append, share_after=0.3)
    held = try_lock(tmp_path / "cpu-0")
    assert held is not None
    seconds = []
    for _ in range(2):
        start = time.monotonic()
        async with leasing.hold() as lease:
            assert lease == Lease((0,))
        seconds.append(time.monotonic() - start)
    held.release()
    assert seconds[0] >= 0.3 > seconds[1]


async def test_a_lab_takes_over_the_core_that_work_in_idle_time_holds(tmp_path: Path) -> None:
    """On one core, a lab that opened after the baseline had begun waited minutes for its end."""
    leasing = RunLeases(Leases(tmp_path, cores=[0]), 1, 0, lambda: 100.0, Stopwatch(), print)
    lab = LabLease(leasing)
    async with AsyncExitStack() as idle_work:
        baseline = await idle_work.enter_async_context(leasing.hold_idle())
        async with asyncio.timeout(5), lab.hold() as lease, leasing.hold_idle() as fit:
            assert lease == baseline == fit == Lease((0,))
            await idle_work.aclose()
            assert try_lock(tmp_path / "cpu-0") is None, "the lab still holds it"
    free = try_lock(tmp_path / "cpu-0")
    assert free is not None
    free.release()


async def test_a_lab_waits_for_no_second_piece_of_work_in_idle_time(tmp_path: Path) -> None:
    """A fit that waited for the core of a public notebook kept a lab's first command waiting for 154 s."""
    leasing = RunLeases(Leases(tmp_path, cores=[0]), 1, 0, lambda: 100.0, Stopwatch(), print)
    async with AsyncExitStack() as first, AsyncExitStack() as second:
        async with asyncio.timeout(5):
            notebook = await first.enter_async_context(leasing.hold_idle())
            fit = await second.enter_async_context(leasing.hold_idle())
            await first.aclose()
            assert try_lock(tmp_path / "cpu-0") is None, "the fit still holds it"
            async with LabLease(leasing).hold() as lease:
                assert lease == notebook == fit == Lease((0,))
                await second.aclose()
                assert try_lock(tmp_path / "cpu-0") is None, "the lab still holds it"
    free = try_lock(tmp_path / "cpu-0")
    assert free is not None
    free.release()
    assert leasing.of_labs == leasing.of_idle_work == []


async def test_on_a_fleet_each_piece_of_work_in_idle_time_has_a_slot_of_its_own(tmp_path: Path) -> None:
    class Elsewhere(Leases):
        @property
        def here(self) -> Leases:
            return Leases(tmp_path, cores=[2])

    leasing = RunLeases(Elsewhere(tmp_path, cores=[0, 1]), 1, 0, lambda: 100.0, Stopwatch(), print)
    async with asyncio.timeout(5), leasing.hold_idle() as first, leasing.hold_idle() as second:
        assert {first, second} == {Lease((0,)), Lease((1,))}
    assert leasing.of_idle_work == []


@pytest.mark.parametrize("first", ["lab", "idle work"])
async def test_whoever_of_a_lab_and_idle_work_waits_first_both_share_what_comes_free(
    tmp_path: Path, first: str
) -> None:
    leasing = RunLeases(Leases(tmp_path, cores=[0]), 1, 0, lambda: 100.0, Stopwatch(), print)
    other = try_lock(tmp_path / "cpu-0")
    assert other is not None
    both = asyncio.Barrier(2)

    async def share(hold: Callable[[], AbstractAsyncContextManager[Lease]]) -> None:
        async with hold():
            await both.wait()

    order = [LabLease(leasing).hold, leasing.hold_idle]
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        for hold in order if first == "lab" else reversed(order):
            group.create_task(share(hold))
            await asyncio.sleep(0)
        other.release()
    assert leasing.of_labs == leasing.of_idle_work == []


@pytest.mark.parametrize(("left", "asked", "given"), [(100, 60, 60), (30, 60, 30), (0, 60, 5), (0, 2, 2)])
def test_what_waiting_has_used_up_is_not_given_again(tmp_path: Path, left: float, asked: float, given: float) -> None:
    leasing = RunLeases(Leases(tmp_path, cores=[0]), 1, 0, lambda: left, Stopwatch(), print)
    assert leasing.leased(a_request(asked), Lease()).limits.seconds == given


@pytest.mark.integration
@pytest.mark.usefixtures("light")
def test_a_run_waits_for_the_gpu_that_another_bot_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOT_LEASES", str(tmp_path / "leases"))
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(FakeGpu("GPU-a")))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "leases").mkdir()
    others = try_lock(tmp_path / "leases" / "gpu-GPU-a")
    assert others is not None

    def give_back() -> None:
        while not list((tmp_path / "leases").glob("line-gpu-*")):
            time.sleep(0.05)
        time.sleep(2)
        others.release()

    thread = threading.Thread(target=give_back)
    thread.start()
    snapshot = write_tiny(tmp_path / "tiny-table")
    options = ["--model", "builtin", "--steps", "1", "--sandbox", "process", "--time", "3m", "--json"]
    done = CliRunner().invoke(app, ["replay", str(snapshot), *options], catch_exceptions=False)
    thread.join()
    result = json.loads(done.stdout)
    assert result["valid_submission"], done.output
    assert result["waiting_seconds"] >= 1.5
    assert re.search(r"waiting since \S+ for 1 GPU", done.stderr)
    assert json.loads((Path(result["run"]) / "config.json").read_text())["settings"]["gpus"] == 1
    assert list((tmp_path / "leases").glob("line-*")) == []
