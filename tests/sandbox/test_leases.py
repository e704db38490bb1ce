"""Leases: never two by accident, across processes, kills and cancellations; nobody starves."""

import asyncio
import itertools
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from sandbox import Lease
from sandbox.leases import Leases, leases_folder
from sandbox.locks import is_held, lock_within_seconds, try_lock
from state.errors import InfrastructureFailure
from tests import needs

HOLDER = """
import asyncio, itertools, os, random, sys, time
from pathlib import Path
from sandbox.gpu import Gpus
from sandbox.leases import Leases
from tests.sandbox.fake_nvml import FakeGpu, FakeNvml

async def main(folder, log, name):
    gpus = Gpus(FakeNvml(FakeGpu("GPU-a"), FakeGpu("GPU-b")))
    leases = Leases(folder, cores=range(4), gpus=gpus)
    for number in itertools.count():
        async with leases.hold(random.choice([1, 1, 2, 3]), random.choice([0, 1, 1, 2]), seconds=60) as lease:
            def write(what):
                names = ",".join([*map(str, lease.cpus), *lease.gpus])
                os.write(log, f"{name} {number} {what} {time.monotonic_ns()} {names}\\n".encode())
            write("begin")
            await asyncio.sleep(random.uniform(0.002, 0.02))
            write("end")

log = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND)
asyncio.run(main(Path(sys.argv[1]), log, sys.argv[3]))
"""


def overlaps(lines: Iterable[str], killed: dict[str, int]) -> list[str]:
    """Return every lease that began while another on the same core or GPU was held.

    A lease without an end was held at least until its holder was about to be killed.
    """
    spans: dict[tuple[str, str, str], list[int]] = {}
    for name, number, what, at, leased in (line.split() for line in lines):
        for one in leased.split(","):
            if what == "begin":
                spans[name, number, one] = [int(at), killed[name]]
            else:
                spans[name, number, one][1] = int(at)
    of_one: defaultdict[str, list[tuple[list[int], tuple[str, str, str]]]] = defaultdict(list)
    for key, span in spans.items():
        of_one[key[2]].append((span, key))
    found = []
    for held in of_one.values():
        held.sort()
        found += [f"{b} began within {a}" for (span, a), (other, b) in itertools.pairwise(held) if other[0] < span[1]]
    return found


def test_the_check_for_overlaps_can_fail() -> None:
    lines = ["a 0 begin 10 0,1", "b 0 begin 20 1", "a 0 end 30 0,1", "b 0 end 40 1"]
    assert len(overlaps(lines, {"a": 99, "b": 99})) == 1
    assert overlaps(["a 0 begin 10 0", "b 0 begin 20 0", "b 0 end 21 0"], {"a": 15, "b": 99}) == []
    assert len(overlaps(["a 0 begin 10 0", "b 0 begin 20 0", "b 0 end 21 0"], {"a": 25, "b": 99})) == 1


@pytest.mark.integration
def test_two_hundred_leases_of_eight_processes_under_kills_never_overlap(tmp_path: Path) -> None:
    folder, log = tmp_path / "leases", tmp_path / "log"
    folder.mkdir()
    log.touch()
    killed: dict[str, int] = {}
    names = iter(range(1000))
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}

    def start() -> tuple[str, subprocess.Popen[bytes]]:
        name = f"holder{next(names)}"
        return name, subprocess.Popen([sys.executable, "-c", HOLDER, str(folder), str(log), name], env=environment)

    def kill(name: str, process: subprocess.Popen[bytes]) -> None:
        killed[name] = time.monotonic_ns()
        process.send_signal(signal.SIGKILL)
        process.wait()

    running = [start() for _ in range(8)]
    give_up = time.monotonic() + 60
    died_holding = 0
    try:
        while (taken := log.read_text().count("begin")) < 200 or len(killed) < 8 or died_holding < 3:
            assert time.monotonic() < give_up, (
                f"only {taken} leases, {died_holding} of {len(killed)} died while holding"
            )
            # By progress, not by the clock, and whoever took the last lease: most likely it still holds it.
            if taken >= 20 * (len(killed) + 1):
                last = log.read_text().splitlines()[-1].split()[0]
                victim = next((i for i, (name, _) in enumerate(running) if name == last), 0)
                name, process = running[victim]
                kill(name, process)
                written = [line.split() for line in log.read_text().splitlines()]
                died_holding += [what for who, _, what, *_ in written if who == name][-1:] == ["begin"]
                running[victim] = start()
            time.sleep(0.005)
    finally:
        for holder in running:
            kill(*holder)
    lines = log.read_text().splitlines()
    assert overlaps(lines, killed) == []
    assert any("GPU-b" in line for line in lines)
    names_of_locks = [*(f"cpu-{core}" for core in range(4)), "gpu-GPU-a", "gpu-GPU-b"]
    assert all(try_lock(folder / name) for name in names_of_locks), "what the dead held is free at once"


async def test_cores_are_given_once_and_again_after_release(tmp_path: Path) -> None:
    leases, others = Leases(tmp_path, cores=[4, 5, 6]), Leases(tmp_path, cores=[4, 5, 6])
    async with leases.hold(2, seconds=1) as one, others.hold(1, seconds=1) as two:
        assert (one, two) == (Lease((4, 5)), Lease((6,)))
        with pytest.raises(InfrastructureFailure, match="1 core"):
            async with others.hold(1, seconds=0.05):
                pass
    async with others.hold(3, seconds=1) as all_of_them:
        assert all_of_them.cpus == (4, 5, 6)


async def test_a_machine_with_fewer_cores_gives_what_it_has(tmp_path: Path) -> None:
    async with Leases(tmp_path, cores=[7]).hold(16, seconds=1) as lease:
        assert lease.cpus == (7,)


async def test_who_waits_longest_comes_first_and_is_not_passed_by_smaller_wishes(tmp_path: Path) -> None:
    order: list[str] = []

    async def want(name: str, cores: int) -> None:
        async with Leases(tmp_path, cores=range(2)).hold(cores, seconds=20):
            order.append(name)

    async with asyncio.TaskGroup() as group, Leases(tmp_path, cores=range(2)).hold(1, seconds=1):
        for name, cores in (("large", 2), ("small", 1), ("small too", 1)):
            group.create_task(want(name, cores))
            await asyncio.sleep(0)  # so that each stands in line before the next
        await asyncio.sleep(0.1)
        assert order == [], "one core is free, and the first in line wants two"
    assert order[0] == "large"
    assert sorted(order[1:]) == ["small", "small too"]


async def test_waiting_is_sentences_and_can_be_cancelled(tmp_path: Path) -> None:
    leases = Leases(tmp_path, cores=[0])
    sentences: asyncio.Queue[str] = asyncio.Queue()

    async def wait() -> None:
        async with leases.hold(1, seconds=60, say=sentences.put_nowait):
            raise AssertionError("nobody may get it")

    async with leases.hold(1, seconds=1):
        task = asyncio.create_task(wait())
        assert "for 1 core" in await sentences.get()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert list(tmp_path.glob("line-*")) == []
    async with leases.hold(1, seconds=1) as lease:
        assert lease.cpus == (0,)


async def test_who_has_waited_long_enough_shares_a_core(tmp_path: Path) -> None:
    leases, said = Leases(tmp_path, cores=[0]), list[str]()
    async with leases.hold(1, seconds=1), leases.hold(1, seconds=60, share_after=0.05, say=said.append) as lease:
        assert lease.cpus == (0,) and said == ["running on a core that other processes also use"]
    async with leases.hold(1, seconds=1):
        pass


async def test_a_lease_ends_with_an_error_inside(tmp_path: Path) -> None:
    leases = Leases(tmp_path, cores=[0])
    with pytest.raises(KeyError):
        async with leases.hold(1, seconds=1):
            raise KeyError
    assert not is_held(tmp_path / "cpu-0")


async def test_a_place_in_line_that_somebody_died_on_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "line-cpu-00000000000000000001-1-0").touch()
    async with Leases(tmp_path, cores=[0]).hold(1, seconds=5) as lease:
        assert lease.cpus == (0,)
    assert list(tmp_path.glob("line-*")) == []


async def test_a_lock_whose_file_was_removed_under_it_excludes_nobody_twice(tmp_path: Path) -> None:
    first = try_lock(tmp_path / "cpu-0")
    assert first is not None
    (tmp_path / "cpu-0").unlink()
    second = try_lock(tmp_path / "cpu-0")
    assert second is not None
    assert try_lock(tmp_path / "cpu-0") is None


@pytest.mark.integration
def test_what_a_killed_process_leaves_to_a_child_for_a_moment_is_waited_for(tmp_path: Path) -> None:
    lock = try_lock(tmp_path / "lock")
    child = os.fork()
    if child == 0:  # it holds a copy of the descriptor, as one that is being started does
        time.sleep(0.5)
        os._exit(0)
    os.close(lock._descriptor)  # as the kernel does for one that is killed
    assert try_lock(tmp_path / "lock") is None
    held = lock_within_seconds(tmp_path / "lock")
    assert held is not None and lock_within_seconds(tmp_path / "lock") is None
    os.waitpid(child, 0)


@pytest.mark.parametrize("make", [lambda path: path.symlink_to("/etc/passwd"), os.mkfifo, lambda path: path.mkdir()])
async def test_a_trap_laid_in_the_shared_folder_is_an_error_and_not_followed(tmp_path: Path, make) -> None:
    make(tmp_path / "cpu-0")
    with pytest.raises(InfrastructureFailure, match="Leases cannot be stored"):
        async with Leases(tmp_path, cores=[0]).hold(1, seconds=1):
            pass


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder for every user: pytest's own are closed to others."""
    with tempfile.TemporaryDirectory(prefix="bot-test-") as name:
        Path(name).chmod(0o1777)
        yield Path(name)


@pytest.mark.integration
def test_root_and_ordinary_users_keep_out_each_other(open_folder: Path) -> None:
    needs.root()
    folder = open_folder
    program = (
        "import asyncio, os, sys; os.umask(0o077); from pathlib import Path; from sandbox.leases import Leases\n"
        "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "async def main():\n"
        " async with Leases(Path(sys.argv[1]), cores=[0, 1]).hold(1, seconds=0.3) as lease:\n"
        "  print(lease.cpus[0], flush=True); sys.stdin.read()\n"
        "asyncio.run(main())"
    )

    def nobody() -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", program, str(folder)],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    ours = try_lock(folder / "cpu-0")
    with nobody() as ordinary:
        assert ordinary.stdout.readline() == "1\n"
        assert try_lock(folder / "cpu-1") is None
        ours.release()
        ordinary.communicate("")
    both = [try_lock(folder / "cpu-0"), try_lock(folder / "cpu-1")]
    assert all(both)
    with nobody() as refused:
        told = refused.communicate("")[1]
    assert "did not become free" in told
    assert f"(process {os.getpid()})" in told


def test_the_shared_folder_is_everybodys_and_one_may_name_another(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("BOT_LEASES", str(tmp_path / "own"))
    assert leases_folder() == tmp_path / "own"
    monkeypatch.delenv("BOT_LEASES")
    assert leases_folder().stat().st_mode & 0o1777 == 0o1777
    assert leases_folder().parent in {Path("/run/lock"), Path("/tmp")}
