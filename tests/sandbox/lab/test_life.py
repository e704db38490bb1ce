"""Tests of how a lab begins and ends: closed, killed, reopened, with the bot killed, idle."""

import asyncio
import os
import signal
import subprocess
import sys
import time
import uuid
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.execution import LocalSandbox
from sandbox.image.engine import connect
from sandbox.lab import LabDied, LabRequest, keeper
from sandbox.process import ProcessSandbox
from sandbox.profile import INSTANCE
from state.errors import UsageError
from tests import needs
from tests.sandbox.conftest import DOCKER
from tests.sandbox.lab.conftest import Shell
from tests.source_tree import ROOT

AGENT = "$(cd /proc; for p in [0-9]*; do grep -qs python $p/comm && grep -qs pinned[.]bpf $p/cmdline && echo $p; done)"
PROGRAM = """
import asyncio, sys
from pathlib import Path
from sandbox.choose import choose
from sandbox.lab import LabLimits, LabRequest

async def main():
    request = LabRequest("lab1", Path(sys.argv[1]), {}, LabLimits(2**28, 10**7))
    async with choose(sys.argv[2], trusted=False, instance=sys.argv[3]).open_lab(request) as lab:
        await lab.run(1, "trap '' TERM INT HUP; (setsid sleep 54321 &) ; sleep 54321 &", seconds=9, cpus=())
        print("open", flush=True)
        await lab.run(2, "sleep 54321", seconds=99, cpus=())

asyncio.run(main())
"""


def running(command: str) -> list[int]:
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        line = " ".join(process.info["cmdline"] or ())
        if command in line and "pgrep" not in line and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process.pid)
    return found


def own_processes() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


def agent_outside() -> psutil.Process:
    """Return the agent of the one lab that we have open."""
    (found,) = [one for one in own_processes() if one.name().startswith("python")]
    return found


async def test_work_is_kept_between_two_openings(isolated: LocalSandbox, lab_request: LabRequest) -> None:
    async with isolated.open_lab(lab_request) as lab:
        await Shell(lab, lab_request).type("mkdir -p a/b; echo kept >a/b/c; chmod 700 a; cd a")
    assert (lab_request.folder / "work/a/b/c").read_text() == "kept\n"
    async with isolated.open_lab(lab_request) as lab:
        shell = Shell(lab, lab_request)
        assert await shell.prints("pwd; cat a/b/c; echo more >>a/b/c; ls -ln a/b/c | cut -d' ' -f1") == (
            "/lab/work\nkept\n-rw-r--r--"
        )


async def test_what_the_engine_put_into_work_is_the_labs_own(isolated: LocalSandbox, lab_request: LabRequest) -> None:
    for _ in range(2):
        async with isolated.open_lab(lab_request) as lab:
            assert await Shell(lab, lab_request).prints("cat ours 2>/dev/null && echo more >>ours; ls") in {
                "data\nweights",
                "x\ndata\nours\nweights",
            }
        (lab_request.folder / "work" / "ours").write_text("x\n")


async def test_closing_ends_everything_and_says_so(bubblewrap: BubblewrapSandbox, lab_request: LabRequest) -> None:
    async with bubblewrap.open_lab(lab_request) as lab:
        shell = Shell(lab, lab_request)
        await shell.type("setsid sleep 65432 & sleep 0.1")
        running_command = asyncio.create_task(shell.type("echo begun; sleep 65432"))
        await asyncio.sleep(0.3)
        assert running("sleep 65432")
        await lab.close()
        result = await running_command
    assert (result.output, result.exit_code) == ("begun\n", None)
    assert "it was closed" in (result.notice or "")
    assert running("sleep 65432") == []
    assert not lab.alive
    await lab.wait_idle()
    await lab.close()


@pytest.mark.parametrize("command", [f"kill -9 {AGENT}", "kill -9 -1"])
async def test_a_killed_agent_ends_the_lab_which_may_be_opened_again(isolated, lab_request, command) -> None:
    async with isolated.open_lab(lab_request) as lab:
        shell = Shell(lab, lab_request)
        result = await shell.type(f"echo kept >file; echo before; sleep 0.3; {command}; sleep 98")
        assert (result.output, result.exit_code, result.timed_out) == ("before\n", None, False)
        assert "sandbox ended" in (result.notice or "")
        assert not lab.alive
        with pytest.raises(LabDied):
            await shell.type("echo again")
    async with isolated.open_lab(lab_request) as lab:
        assert await Shell(lab, lab_request).prints("cat file") == "kept"


@pytest.mark.integration
async def test_a_stopped_agent_is_given_up(bubblewrap, lab_request, monkeypatch) -> None:
    monkeypatch.setattr(keeper, "_ANSWER", 0.5)
    async with bubblewrap.open_lab(lab_request) as lab:
        result = await Shell(lab, lab_request).type(f"kill -STOP {AGENT}; sleep 98", seconds=1)
        assert "did not answer a request" in (result.notice or "")
        assert not lab.alive


async def test_a_lab_whose_sandbox_is_killed_from_outside_is_dead(bubblewrap, lab_request) -> None:
    async with bubblewrap.open_lab(lab_request) as lab:
        agent_outside().kill()
        await asyncio.wait_for(lab.wait_idle(), 60)
        for _ in range(100):
            if not lab.alive:
                break
            await asyncio.sleep(0.05)
        with pytest.raises(LabDied):
            await Shell(lab, lab_request).type("true")


@pytest.mark.parametrize("name", ["bubblewrap", DOCKER])
def test_a_killed_bot_takes_all_along(name: str, tmp_path: Path) -> None:
    (needs.docker if name == "docker" else needs.bubblewrap)()
    instance = f"test-{uuid.uuid4().hex}"
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "lab"), name, instance]
    bot = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, text=True)
    assert bot.stdout.readline() == "open\n"
    deadline = time.monotonic() + 10
    while len(running("sleep 54321")) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    bot.send_signal(signal.SIGKILL)
    bot.wait()
    bot.stdout.close()
    while running("sleep 54321") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert running("sleep 54321") == []
    if name == "docker":  # the next bot of that instance removes it
        with connect() as engine:
            (left,) = engine.containers.list(all=True, filters={"label": f"{INSTANCE}={instance}"})
            assert left.status in {"exited", "removing"}
            left.remove(force=True)


@pytest.mark.integration
async def test_an_idle_lab_costs_nothing(shell: Shell) -> None:
    await shell.type("touch $(seq 1000)")
    await asyncio.sleep(0.5)  # an engine that is being asked
    inside = sum(one.cpu_times().user + one.cpu_times().system for one in own_processes())
    own = time.process_time()
    await asyncio.sleep(3)
    assert time.process_time() - own < 0.05
    assert sum(one.cpu_times().user + one.cpu_times().system for one in own_processes()) == inside


async def test_links_in_place_of_folders_give_way(bubblewrap: BubblewrapSandbox, lab_request: LabRequest) -> None:
    without = replace(lab_request, mounts={})
    async with bubblewrap.open_lab(without) as lab:
        await Shell(lab, without).type("ln -s /etc data; echo file >weights; chmod 0 /lab/work")
    async with bubblewrap.open_lab(lab_request) as lab:
        assert await Shell(lab, lab_request).prints("cat data/train.csv; ls -d data weights") == (
            "id,x\n1,2\ndata\nweights"
        )


@pytest.mark.integration
async def test_folders_that_are_too_deep_for_python_do_not_keep_a_lab_closed(bubblewrap, lab_request) -> None:
    async with bubblewrap.open_lab(lab_request):
        pass
    folder = os.open(lab_request.folder / "work", os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=folder)
        deeper = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = deeper
    os.close(folder)
    async with bubblewrap.open_lab(lab_request) as lab:
        assert await Shell(lab, lab_request).prints("find . -name d | wc -l") == "63"


async def test_a_process_sandbox_has_no_labs(lab_request: LabRequest) -> None:
    with pytest.raises(UsageError, match="labs require --sandbox bubblewrap or --sandbox docker"):
        async with ProcessSandbox().open_lab(lab_request):
            pass


async def test_a_mount_that_is_absent_is_said(bubblewrap: BubblewrapSandbox, lab_request: LabRequest) -> None:
    request = replace(lab_request, mounts={"data": Path("/no/such/folder")})
    with pytest.raises(LabDied, match="/no/such/folder"):
        async with bubblewrap.open_lab(request):
            pass


@pytest.mark.parametrize("name", ["../data", "/etc", "work/x", ".engine", "a//b"])
async def test_a_mount_elsewhere_is_refused(bubblewrap: BubblewrapSandbox, lab_request: LabRequest, name: str) -> None:
    request = replace(lab_request, mounts={name: lab_request.mounts["data"]})
    with pytest.raises(ValueError, match=r"mounted|reserved|invalid name"):
        async with bubblewrap.open_lab(request):
            pass


async def test_an_error_in_the_block_closes_the_lab(bubblewrap: BubblewrapSandbox, lab_request: LabRequest) -> None:
    with pytest.raises(ZeroDivisionError):
        async with bubblewrap.open_lab(lab_request):
            assert os.getpid()
            raise ZeroDivisionError
    assert own_processes() == []
