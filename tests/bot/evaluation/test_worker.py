import asyncio
import importlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bot.evaluation.ops import OPERATIONS
from bot.evaluation.worker import Worker
from state.errors import InfrastructureFailure, InvalidSubmission, SnapshotError, UnsupportedLayout, UsageError
from tests.bot.evaluation.parts import card, competition


@pytest.fixture
async def worker():
    running = Worker(seconds=60)
    yield running
    await running.aclose()


@pytest.fixture
def data(tmp_path):
    return competition(tmp_path / "data", [[f"r{n}", n, n] for n in range(200)], [["t0", 0], ["t1", 1]])


async def test_operations_run_in_one_child_that_stays(worker, data, tmp_path):
    assert worker.pid is None
    places = {"out_dir": tmp_path / "view", "labels_dir": tmp_path / "labels"}
    info = await worker.call("build_view", data_dir=data, card=card(), name="holdout", seed=0, **places)
    assert (info["name"], info["train_rows"], info["validation_rows"]) == ("holdout", 140, 40)
    first = worker.pid
    scored = await worker.call(
        "score_execution",
        labels_dir=tmp_path / "labels",
        view_dir=tmp_path / "view",
        predictions_path=tmp_path / "view" / "sample_validation.csv",
        submission_path=None,
        card=card(),
    )
    assert scored["score"] > 0 and not scored["valid"]
    assert "train.csv" in await worker.call("bot.evaluation.preview:preview", data_dir=data, card=card())
    assert worker.pid == first != os.getpid()


async def test_our_errors_come_back_as_what_they_were(worker, data, tmp_path):
    sample = data / "sample_submission.csv"
    with pytest.raises(InvalidSubmission, match=r"train\.csv"):
        await worker.call("agree", file_a=sample, file_b=data / "train.csv", card=card())
    with pytest.raises(SnapshotError) as caught:
        await worker.call("grade", snapshot_dir=tmp_path, card=card(), submission_path=sample)
    assert caught.value.problems[0].file == "private/answers.csv"
    (data / "train.csv").unlink()
    with pytest.raises(UnsupportedLayout, match=r"There is no train\.csv"):
        places = {"out_dir": tmp_path / "view", "labels_dir": tmp_path / "labels"}
        await worker.call("build_view", data_dir=data, card=card(), name="full", seed=0, **places)


async def test_only_listed_functions_can_be_called(worker):
    for op in ("os:system", "bot.evaluation.grading.grade:open_hidden_test", ""):
        with pytest.raises(UsageError, match="knows no operation"):
            await worker.call(op)


async def test_any_other_failure_carries_its_traceback(worker, data):
    with pytest.raises(InfrastructureFailure, match="Traceback"):
        await worker.call("preview", data_dir=data, card={"slug": "not a card"})
    assert await worker.call("preview", data_dir=data, card=card())


async def stopped(worker, data):
    """Start the child and stop it, so that its next call waits for ever."""
    await worker.call("preview", data_dir=data, card=card())
    os.kill(worker.pid, signal.SIGSTOP)
    return worker.pid


async def begun(call):
    """Start a call and let it run until it waits for its answer."""
    task = asyncio.create_task(call)
    await asyncio.sleep(0)
    return task


async def test_a_killed_child_is_an_infrastructure_failure_and_the_next_call_starts_another(worker, data):
    first = await stopped(worker, data)
    call = await begun(worker.call("preview", data_dir=data, card=card()))
    os.kill(first, signal.SIGKILL)
    with pytest.raises(InfrastructureFailure, match="ended with status -9"):
        await call
    assert await worker.call("preview", data_dir=data, card=card())
    assert worker.pid != first


async def test_a_call_that_takes_too_long_is_ended(worker, data):
    first = await stopped(worker, data)
    with pytest.raises(InfrastructureFailure, match=r"longer than 0\.2 s"):
        await worker.call("preview", data_dir=data, card=card(), timeout_seconds=0.2)
    assert not Path(f"/proc/{first}").exists()


async def test_a_cancelled_call_leaves_no_child(worker, data):
    first = await stopped(worker, data)
    call = await begun(worker.call("preview", data_dir=data, card=card()))
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert not Path(f"/proc/{first}").exists()


async def test_calls_at_the_same_time_take_turns(worker, data):
    texts = await asyncio.gather(*(worker.call("preview", data_dir=data, card=card()) for _ in range(5)))
    assert len(set(texts)) == 1


async def test_memory_has_a_limit(data):
    worker = Worker(memory_bytes=64 * 1024**2)
    with pytest.raises(InfrastructureFailure):
        await worker.call("grade", snapshot_dir=data, card=card(), submission_path=data / "train.csv")
    await worker.aclose()


def test_the_bots_own_process_loads_no_heavy_module():
    code = (
        "import sys, bot.evaluation.worker, bot.evaluation.metrics.registry, bot.evaluation.grading.leaderboard\n"
        "print([m for m in ('pandas', 'numpy', 'sklearn', 'scipy', 'matplotlib', 'PIL') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_the_child_ends_when_the_bot_does():
    code = (
        "import asyncio, os, bot.evaluation.worker as w\n"
        "async def main():\n"
        "    worker = w.Worker()\n"
        "    try: await worker.call('none')\n"
        "    except Exception: pass\n"
        "    print(worker.pid, flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
        "asyncio.run(main())\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == -signal.SIGKILL
    assert gone(int(run.stdout))


def gone(pid):
    """Whether a process ends within ten seconds; a zombie that nobody has collected yet has ended."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.02)
    return False


def test_every_operation_exists():
    for path in OPERATIONS.values():
        module, _, name = path.partition(":")
        assert callable(getattr(importlib.import_module(module), name))


async def test_a_child_that_nobody_needs_is_ended_and_the_next_call_has_another(data):
    running = Worker(seconds=60, idle_seconds=0.05)
    try:
        await running.call("preview", data_dir=data, card=card())
        first = running.pid
        assert first is not None
        async with asyncio.timeout(20):
            while running.pid is not None:
                await asyncio.sleep(0.01)
        await running.call("preview", data_dir=data, card=card())
        assert running.pid not in (None, first)
    finally:
        await running.aclose()
