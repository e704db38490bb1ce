"""Tests of idle executions: their priority, which they keep, their limit, their pauses and their end."""

import asyncio
import os
import time
import uuid
from pathlib import Path

import pytest

from sandbox import Breach, ExitReason, Lease, ResourceUsage
from sandbox.docker import DockerSandbox
from sandbox.execution import LocalSandbox, _trial_folder, execute
from sandbox.idle_probe import SMALL_SHARE, idle_share
from sandbox.process import ProcessSandbox
from sandbox.profile import Origin, container_options, script_plan
from sandbox.quiet import QuietCores
from sandbox.workspace import Workspace
from tests.sandbox.conftest import Run, make_request
from tests.sandbox.test_limits import alive

NEEDS_DOCKER = pytest.mark.integration
HOST = pytest.mark.parametrize("sandbox", ["process", "bubblewrap"], indirect=True)
NICE = "def nice(): return open('/proc/self/autogroup').read().split()[-1]\n"
TICKS = """
import subprocess, sys
tick = "import time # {token}\\nwhile True: print('tick', flush=True); time.sleep(0.01)"
subprocess.run([sys.executable, "-c", tick])
"""


class Ticks:
    """A watch that counts what is printed."""

    def __init__(self) -> None:
        self.seen = 0

    def output(self, chunk: bytes) -> None:
        self.seen += chunk.count(b"tick")

    def usage(self, usage: ResourceUsage) -> Breach | None:
        return None

    async def more(self) -> None:
        """Return when it has ticked again."""
        before, deadline = self.seen, time.monotonic() + 60
        while self.seen == before:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.01)

    async def none(self) -> None:
        """Return when it has not ticked for a while."""
        before, since = self.seen, time.monotonic()
        deadline = since + 60
        while time.monotonic() < since + 1:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.02)
            if self.seen > before:
                before, since = self.seen, time.monotonic()


def given_way(monkeypatch: pytest.MonkeyPatch, share: float) -> None:
    """Have the probe say that an idle execution gets so much of a core."""

    class Known(dict[object, float]):
        def __missing__(self, key: object) -> float:
            return share

        def __contains__(self, key: object) -> bool:
            return True

    monkeypatch.setattr("sandbox.execution._shares", Known())


@pytest.fixture(autouse=True)
def out_of_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take no time for the probe."""
    given_way(monkeypatch, 0.01)


@pytest.fixture
def in_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the probe fail."""
    given_way(monkeypatch, 0.5)


@pytest.fixture
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let idle executions get on beside other tests."""
    monkeypatch.setattr("sandbox.idle._LEAST_NICE", 0)
    monkeypatch.setattr("sandbox.profile.IDLE_SHARES", 1024)


@HOST
async def test_it_and_its_children_are_scheduled_as_idle(run: Run) -> None:
    outcome = await run(
        """
        import os, subprocess, sys
        print(os.sched_getscheduler(0), flush=True)
        subprocess.run([sys.executable, "-c", "import os; print(os.sched_getscheduler(0))"])
        """,
        idle=True,
    )
    assert outcome.output == f"{os.SCHED_IDLE}\n{os.SCHED_IDLE}\n"
    assert (await run("import os; print(os.sched_getscheduler(0))")).output == f"{os.SCHED_OTHER}\n"


@HOST
async def test_a_session_that_it_starts_weighs_as_little(run: Run) -> None:
    if not Path("/proc/self/autogroup").exists():
        pytest.skip("this kernel does not tell sessions apart")
    script = f"{NICE}import time\nwhile nice() != '19': time.sleep(0.01)\n"
    assert (await run(f"{NICE}print(nice())", idle=True)).output == "19\n"
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {script!r}], start_new_session=True, check=True)"
    outcome = await run(script + child, idle=True)
    assert outcome.reason is ExitReason.FINISHED, outcome
    assert (await run(f"{NICE}print(nice())")).output == "0\n"


def test_its_container_gets_the_least_weight(place: Path) -> None:
    def options(*, idle: bool) -> dict[str, object]:
        workspace = Workspace(place / "work", place / "code", place)
        for folder in (workspace.work, workspace.code):
            folder.mkdir(exist_ok=True)
        request = make_request(place, "", idle=idle)
        return container_options(script_plan(Origin("image", "ours", None), request, workspace, (0,)))

    assert options(idle=True)["cpu_shares"] == 2
    assert "cpu_shares" not in options(idle=False)


@NEEDS_DOCKER
async def test_its_container_has_the_least_weight(run_docker: Run) -> None:
    script = """
    from pathlib import Path
    for name in ("cpu/cpu.shares", "cpu.weight"):
        if (path := Path("/sys/fs/cgroup") / name).exists():
            print(path.read_text().strip())
    """
    assert (await run_docker(script, idle=True)).output in {"2\n", "1\n"}


async def test_it_is_told_both_of_its_limits(run: Run) -> None:
    script = "import os; print(os.environ['BOT_CPU_LIMIT'], os.environ['BOT_TIME_LIMIT'])"
    assert (await run(script, idle=True, seconds=2.5)).output == "2.5 50\n"
    assert (await run("import os; print(os.environ.get('BOT_CPU_LIMIT'))")).output == "None\n"


@pytest.mark.integration
async def test_its_limit_counts_the_processor_time_of_all_its_processes(run: Run, brisk: None) -> None:
    outcome = await run(
        """
        import os, time
        time.sleep(2)
        print("slept", flush=True)
        os.fork()
        while True:
            pass
        """,
        idle=True,
        seconds=1.5,
    )
    assert (outcome.reason, outcome.output) == (ExitReason.TIMED_OUT, "slept\n")
    assert "CPU time" in (outcome.detail or "")
    assert outcome.cpu_seconds and 1.5 <= outcome.cpu_seconds < 10


@pytest.mark.integration
@HOST
async def test_it_does_not_last_for_ever_without_using_the_processor(run: Run, brisk: None) -> None:
    outcome = await run("import time; time.sleep(999)", idle=True, seconds=0.4)
    assert outcome.reason is ExitReason.TIMED_OUT
    assert outcome.seconds < 60


@pytest.mark.integration
async def test_it_stands_still_while_its_cores_are_to_be_quiet(sandbox, place, in_the_way, brisk) -> None:
    core = Lease(cpus=(min(os.sched_getaffinity(0)),))
    ticks, token = Ticks(), uuid.uuid4().hex
    task = asyncio.create_task(
        sandbox.run(make_request(place, TICKS.format(token=token), idle=True, lease=core), ticks)
    )
    await ticks.more()
    with sandbox.quiet(core):
        await ticks.none()
    await ticks.more()
    with sandbox.quiet(core), sandbox.quiet(Lease()):
        await ticks.none()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert alive(token) == []
    assert not (place / "out" / ".execution").exists()


@pytest.mark.integration
async def test_what_is_out_of_the_way_goes_on(sandbox: LocalSandbox, place: Path, brisk: None) -> None:
    ticks = Ticks()
    task = asyncio.create_task(sandbox.run(make_request(place, TICKS, idle=True), ticks))
    with sandbox.quiet(Lease()):
        await ticks.more()
        await ticks.more()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


@HOST
async def test_what_begins_while_its_cores_are_to_be_quiet_waits(sandbox, place, in_the_way, brisk) -> None:
    script = "import time\ntime.sleep(0.3)\nprint('tick')"
    ticks = Ticks()
    with sandbox.quiet(Lease()):
        task = asyncio.create_task(sandbox.run(make_request(place, script, idle=True, seconds=9.0), ticks))
        done, _ = await asyncio.wait({task}, timeout=0.8)
        assert not done
    assert (await task).reason is ExitReason.FINISHED


def test_cores_are_quiet_for_those_alone_who_may_run_there() -> None:
    cores = QuietCores()
    with (
        cores.signal(Lease((0, 1)), gives_way=False) as near,
        cores.signal(Lease((2,)), gives_way=False) as far,
        cores.signal(Lease(), gives_way=False) as anywhere,
        cores.signal(Lease((1,)), gives_way=True) as out_of_the_way,
    ):
        with cores.keep(Lease((1,))):
            assert [signal.wanted() for signal in (near, far, anywhere, out_of_the_way)] == [True, False, True, False]
        with cores.keep(Lease((1,)), from_all=True):
            assert [signal.wanted() for signal in (near, far, anywhere, out_of_the_way)] == [True, False, True, True]
        assert not near.wanted()
        with cores.keep(Lease((0,))), cores.keep(Lease((0,))):
            pass
        assert not near.wanted()
        assert os.eventfd_read(near.descriptor) > 1


def probed(sandbox: LocalSandbox) -> float | None:
    with _trial_folder() as folder:
        return idle_share(lambda request, stop, watch: execute(sandbox, request, stop, watch), folder)


@pytest.mark.integration
async def test_the_probe_sees_that_it_gives_way(sandbox: LocalSandbox) -> None:
    shares = (await asyncio.to_thread(probed, sandbox) for _ in range(5))
    assert await anext(share async for share in shares if share is not None) < SMALL_SHARE


@pytest.mark.integration
async def test_the_probe_sees_that_it_does_not(monkeypatch: pytest.MonkeyPatch, brisk: None) -> None:
    monkeypatch.setattr("sandbox.process.idle_command", list)
    share = await asyncio.to_thread(probed, ProcessSandbox())
    assert share and share > SMALL_SHARE


def test_where_nothing_can_be_found_out_it_is_taken_to_be_in_the_way(monkeypatch, place) -> None:
    monkeypatch.setattr("sandbox.execution._shares", {})
    monkeypatch.setenv("DOCKER_HOST", f"unix://{place}/nobody.sock")
    assert not DockerSandbox()._gives_way()
