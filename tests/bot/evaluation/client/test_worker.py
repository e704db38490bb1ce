import asyncio
import gc
import importlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import get_type_hints

import pytest

from bot.evaluation.answers import LabelledView
from bot.evaluation.client.process import Remote
from bot.evaluation.client.worker import Worker
from state.errors import InfrastructureFailure, InvalidSubmission, SnapshotError, UnsupportedLayout
from tests.bot.evaluation.parts import card, competition


@pytest.fixture(autouse=True)
def processes_of_their_own(monkeypatch):
    """Workers as the bot starts them."""
    monkeypatch.setattr(asyncio, "create_subprocess_exec", asyncio.subprocess.create_subprocess_exec)


@pytest.fixture
async def worker():
    running = Worker(seconds=60)
    yield running
    await running.aclose()


@pytest.fixture
def data(tmp_path):
    return competition(tmp_path / "data", [[f"r{n}", n, n] for n in range(200)], [["t0", 0], ["t1", 1]])


def seen(data):
    return {"data_dir": data, "card": card(), "labels_dir": None, "doubts": []}


async def test_calls_run_in_one_child_that_stays(worker, data, tmp_path):
    assert worker.pid is None and worker.slowness == 1.0
    view = LabelledView(tmp_path / "view", tmp_path / "labels", card())
    await worker.build_view(data, card(), "holdout", 0, view.data, view.labels)
    first = worker.pid
    sample = view.data / "sample_validation.csv"
    scored = await worker.score_execution(view, sample, tmp_path / "none.csv")
    assert scored.score.value > 0 and not scored.valid
    assert "train.csv" in await worker.preview(**seen(data))
    assert worker.pid == first != os.getpid()
    measured = worker.slowness
    await worker.aclose()
    assert worker.slowness == measured > 1.0, "known without a child too"


@pytest.mark.integration
async def test_our_errors_come_back_as_what_they_were(worker, data, tmp_path):
    sample = data / "sample_submission.csv"
    with pytest.raises(InvalidSubmission, match=r"train\.csv"):
        await worker.check_form(data / "train.csv", data, card())
    with pytest.raises(SnapshotError) as caught:
        await worker.grade(tmp_path, card(), sample)
    assert caught.value.problems[0].file == "private/answers.csv"
    (data / "train.csv").unlink()
    with pytest.raises(UnsupportedLayout, match=r"no train\.csv"):
        await worker.build_view(data, card(), "full", 0, tmp_path / "view", tmp_path / "labels")


async def test_any_other_failure_carries_its_traceback(worker, data):
    with pytest.raises(InfrastructureFailure, match="Traceback"):
        await worker.call("bot.evaluation.preview:preview", str, None, data_dir=data, card={"slug": "not a card"})
    assert await worker.preview(**seen(data))


async def stopped(worker, data):
    """Start the child and stop it, so that its next call waits for ever."""
    await worker.preview(**seen(data))
    os.kill(worker.pid, signal.SIGSTOP)
    return worker.pid


async def begun(call):
    """Start a call and let it run until it waits for its answer."""
    task = asyncio.create_task(call)
    await asyncio.sleep(0)
    return task


@pytest.mark.integration
async def test_a_killed_child_is_an_infrastructure_failure_and_the_next_call_starts_another(worker, data):
    first = await stopped(worker, data)
    call = await begun(worker.preview(**seen(data)))
    os.kill(first, signal.SIGKILL)
    with pytest.raises(InfrastructureFailure, match="ended with status -9"):
        await call
    assert await worker.preview(**seen(data))
    assert worker.pid != first


@pytest.mark.integration
async def test_a_call_that_takes_too_long_is_ended(worker, data):
    first = await stopped(worker, data)
    with pytest.raises(InfrastructureFailure, match=r"longer than 0\.2 s"):
        await worker.call("bot.evaluation.preview:preview", str, 0.2, **seen(data))
    assert not Path(f"/proc/{first}").exists()


async def test_a_cancelled_call_leaves_no_child(worker, data):
    first = await stopped(worker, data)
    call = await begun(worker.preview(**seen(data)))
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert not Path(f"/proc/{first}").exists()


@pytest.mark.integration
async def test_a_child_is_gone_even_if_who_ends_it_is_cancelled(worker):
    await worker.call("os:getpid", int)
    child = Path(f"/proc/{worker.pid}")
    ending = asyncio.create_task(worker.aclose())
    await asyncio.sleep(0)
    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending
    assert not child.exists()
    gc.collect()  # a pipe that was left open would be a warning now, and so an error


async def test_memory_has_a_limit(data):
    worker = Worker(memory_bytes=64 * 1024**2)
    with pytest.raises(InfrastructureFailure):
        await worker.grade(data, card(), data / "train.csv")
    await worker.aclose()


def test_the_child_ends_when_the_bot_does():
    code = (
        "import asyncio, os, bot.evaluation.client.worker as w\n"
        "async def main():\n"
        "    worker = w.Worker()\n"
        "    try: await worker.rank_correlation([], [])\n"
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


def test_each_method_calls_a_function_of_its_name_that_gives_the_answer_it_is_declared_with():
    methods = {name: remote for name, remote in vars(Worker).items() if isinstance(remote, Remote)}
    assert len(methods) > 15
    for name, remote in methods.items():
        answer = get_type_hints(getattr(importlib.import_module(remote.module), name))["return"]
        assert remote.answer in (answer, object), name


@pytest.mark.integration
async def test_a_child_that_nobody_needs_is_ended_and_the_next_call_has_another(data):
    running = Worker(seconds=60, idle_seconds=0.05)
    try:
        await running.preview(**seen(data))
        first = running.pid
        assert first is not None
        async with asyncio.timeout(20):
            while running.pid is not None:
                await asyncio.sleep(0.01)
        await running.preview(**seen(data))
        assert running.pid not in (None, first)
    finally:
        await running.aclose()
