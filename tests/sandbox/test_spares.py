"""Sandboxes made ahead: used once, never where they do not fit, and none is left."""

import asyncio
import itertools
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from sandbox import ExitReason, Lease, Sandbox
from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.container import WaitingContainer
from sandbox.docker import DockerSandbox
from sandbox.engine import connect
from sandbox.leftovers import left_by_killed
from sandbox.profile import INSTANCE
from sandbox.spares import Spare, Spares
from tests.sandbox.conftest import DOCKER, make_request, runner

SHOW = """
import os, pathlib
print(os.listdir("."), os.environ["BOT_TIME_LIMIT"], os.environ.get("WORD"), sorted(os.sched_getaffinity(0)))
pathlib.Path("mine").write_text("left")
"""


def waiting(place: Path) -> list[Path]:
    return sorted(place.glob(".spare-*"))


async def made(place: Path) -> Path:
    """Wait until one waits; return its folder."""
    deadline = time.monotonic() + 20
    while not [spare for spare in waiting(place) if (spare / ".execution" / "code").is_dir()]:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)
    await asyncio.sleep(1.5)  # until the shell inside waits
    (spare,) = waiting(place)
    return spare


def inode(folder: Path) -> int:
    return folder.stat().st_ino


async def test_the_next_one_is_made_ahead_and_gets_a_script_with_all_that_is_its_own(
    isolated: Sandbox, place: Path
) -> None:
    run = runner(isolated, place)
    first = await run(SHOW)
    ahead = inode(await made(place) / ".execution" / "work")
    script = f"{SHOW}\nprint(os.stat('.').st_ino)"
    second = await run(script, seconds=9.0, environment={"WORD": "it's $HOME \n \\"})
    assert int(second.output.splitlines()[-1]) == ahead
    assert first.output.startswith("['data'] 20 None [")
    assert second.output.startswith("['data'] 9 it's $HOME \n \\ ["), "and nothing of the first one's"
    await made(place)
    assert (await run(SHOW)).output == first.output, "none is used twice"


async def test_one_that_fits_otherwise_is_not_taken(isolated: Sandbox, place: Path) -> None:
    run = runner(isolated, place)
    await run("print(1)")
    ahead = inode(await made(place) / ".execution" / "work")
    shutil.copytree(place / "view", place / "another")
    (place / "another" / "more.csv").touch()
    request = make_request(place, "import os; print(sorted(os.listdir('data')), os.stat('.').st_ino)")
    outcome = await isolated.run(type(request)(**{**vars(request), "view": place / "another"}))
    assert outcome.output.startswith("['more.csv', 'train.csv']")
    assert int(outcome.output.split()[-1]) != ahead
    small = await run("import resource; print(resource.getrlimit(resource.RLIMIT_DATA))", memory_bytes=128 * 1024**2)
    assert small.reason is ExitReason.FINISHED
    deadline = time.monotonic() + 20
    while len(waiting(place)) > 2:  # the oldest goes
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
async def test_it_moves_to_the_cores_of_its_lease(isolated: Sandbox, place: Path) -> None:
    run = runner(isolated, place)
    first, other = sorted(os.sched_getaffinity(0))[:2]
    await run("print(1)", lease=Lease(cpus=(first,)))
    ahead = inode(await made(place) / ".execution" / "work")
    outcome = await run(f"{SHOW}\nprint(os.stat('.').st_ino)", lease=Lease(cpus=(other,)))
    seen, used = outcome.output.splitlines()
    assert seen.endswith(f"[{other}]")
    assert int(used) == ahead


async def test_one_that_died_meanwhile_is_passed_over(isolated: Sandbox, place: Path) -> None:
    run = runner(isolated, place)
    await run("print(1)")
    await made(place)
    (ours,) = isolated.spares._made.values()  # type: ignore[attr-defined]  # both back ends have it
    spare: Spare = ours[0].result()
    if isinstance(spare.waiting, WaitingContainer):
        spare.waiting._engine.api.kill(spare.waiting._options["name"])
    else:
        spare.waiting._program.kill()  # type: ignore[attr-defined]  # bubblewrap's
    deadline = time.monotonic() + 30
    while spare.waiting.alive:  # a kill takes a moment
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)
    outcome = await run("print('well')")
    assert (outcome.reason, outcome.output) == (ExitReason.FINISHED, "well\n")


async def test_what_cannot_be_made_ahead_costs_nothing(bubblewrap: BubblewrapSandbox, place: Path) -> None:
    def broken(*_: object) -> None:
        raise OSError("no more of them")

    bubblewrap.spares = Spares(broken)  # type: ignore[arg-type]
    run = runner(bubblewrap, place)
    for _ in range(2):
        assert (await run("print(1); import time; time.sleep(0.4)")).output == "1\n"
    bubblewrap.spares.release()
    assert waiting(place) == []


async def test_none_is_left_when_they_are_released_or_nobody_has_them_any_more(isolated: Sandbox, place: Path) -> None:
    await runner(isolated, place)("print(1)")
    await made(place)
    before = set(psutil.Process().children(recursive=True))
    isolated.release()
    assert waiting(place) == []
    if isinstance(isolated, BubblewrapSandbox):
        assert before
        assert all(not one.is_running() for one in before)


def test_release_waits_for_those_that_are_going(place: Path) -> None:
    gone: list[int] = []

    class Slow:
        alive = True

        def __init__(self, number: int) -> None:
            self.number = number

        def settle(self) -> None:
            pass

        def discard(self) -> None:
            time.sleep(0.5 if self.number < 2 else 0.0)  # the first two are those that go
            gone.append(self.number)

    numbers = itertools.count()
    spares = Spares(lambda *_: Slow(next(numbers)))  # type: ignore[arg-type, return-value]
    for size in range(4):
        spares.make(make_request(place, "", memory_bytes=(size + 1) * 1024**2))
    time.sleep(0.1)
    spares.release()
    assert len(gone) == next(numbers), "all that were made"


BOT = """
import asyncio, sys, time
from pathlib import Path
from sandbox import ExecutionRequest, Limits
from sandbox.{module} import {name}
place = Path(sys.argv[1])
request = ExecutionRequest("left", "print(1)", place / "view", place / "runs/r/executions/one", Limits(60))
sandbox = {name}({options})
assert asyncio.run(sandbox.run(request)).output == "1\\n"
time.sleep(2)
print("ready", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("kind", ["bubblewrap", DOCKER])
def test_one_that_waits_ends_with_a_bot_that_is_killed_and_its_folder_goes_with_the_next(
    kind: str, place: Path, request: pytest.FixtureRequest
) -> None:
    sandbox = request.getfixturevalue(kind)
    options = ""
    if isinstance(sandbox, DockerSandbox):
        options = repr(sandbox._instance)
    program = BOT.format(module=kind, name=type(sandbox).__name__, options=options)
    executions = place / "runs/r/executions"
    with subprocess.Popen([sys.executable, "-c", program, str(place)], stdout=subprocess.PIPE) as bot:
        assert bot.stdout is not None
        assert bot.stdout.readline() == b"ready\n"
        assert len(waiting(executions)) == 1
        below = psutil.Process(bot.pid).children(recursive=True)
        bot.kill()
    _, left = psutil.wait_procs(below, timeout=5)
    assert left == []
    for one in left_by_killed(place / "runs"):
        one.remove()
    assert waiting(executions) == []
    if isinstance(sandbox, DockerSandbox):
        with connect() as engine:
            found = engine.containers.list(all=True, filters={"label": f"{INSTANCE}={sandbox._instance}"})
            assert {one.status for one in found} <= {
                "exited"
            }  # it has ended by itself; the bots of its folder remove it
            for one in found:
                one.remove(force=True)
