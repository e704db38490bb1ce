"""Every limit of an execution, here and under bubblewrap; in containers attacks try the same (tests/hostile)."""

import os
import shutil
import tempfile
import time
import uuid
from pathlib import Path
from textwrap import indent

import psutil
import pytest

from sandbox import ExitReason, Limits, Sandbox
from sandbox.memory import TmpfsUsage
from sandbox.process import ProcessSandbox
from sandbox.watcher import Reserve, Watcher
from tests.sandbox.conftest import Run

MB = 1024**2


@pytest.fixture(params=["process", "bubblewrap"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    return ProcessSandbox() if request.param == "process" else request.getfixturevalue(request.param)


def alive(token: str) -> list[int]:
    """Return the processes that carry a token in their command line."""
    return [p.pid for p in psutil.process_iter(["cmdline"]) if token in " ".join(p.info["cmdline"] or ())]


@pytest.mark.integration
async def test_a_script_that_ignores_sigterm_is_ended_in_time_with_all_it_started(run: Run) -> None:
    token = uuid.uuid4().hex
    began = time.monotonic()
    outcome = await run(
        f"""
        import os, signal, subprocess, sys, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        sleep = [sys.executable, "-c", "import time; time.sleep(99) # {token}"]
        subprocess.Popen(sleep)
        subprocess.Popen(sleep, start_new_session=True)
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.close(1); os.close(2)
                os.execv(sys.executable, sleep)
            os._exit(0)
        print("started", flush=True)
        time.sleep(99)
        """,
        seconds=1.5,
    )
    assert outcome.reason is ExitReason.TIMED_OUT
    assert outcome.output == "started\n"
    assert outcome.detail == "It was stopped after 1.5 seconds."
    assert 1.4 < outcome.seconds < 60
    assert time.monotonic() - began < 90
    assert alive(token) == []


async def test_what_a_script_leaves_behind_is_gone_when_it_has_ended_by_itself(run: Run) -> None:
    token = uuid.uuid4().hex
    outcome = await run(
        f"""
        import os, subprocess, sys
        sleep = [sys.executable, "-c", "import time; time.sleep(99) # {token}"]
        if os.fork() == 0:
            os.setsid()
            subprocess.Popen(sleep, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            os._exit(0)
        os.wait()
        subprocess.Popen(sleep)
        """
    )
    assert outcome.reason is ExitReason.FINISHED
    assert outcome.seconds < 60
    assert alive(token) == []


GROW = "data = []\nfor _ in range(2000):\n    data.append(bytearray(b'x') * 1024**2)\n"


async def test_memory_of_the_script_is_limited(run: Run) -> None:
    # It holds what it has until it is ended: what is gone within a fifth of a second need not have been seen.
    held = f"import time\ntry:\n{indent(GROW, '    ')}except MemoryError:\n    time.sleep(99)\n"
    outcome = await run(held, memory_bytes=100 * MB)
    assert outcome.reason is ExitReason.OUT_OF_MEMORY
    assert "104857600" in (outcome.detail or "")
    assert (outcome.peak_memory_bytes or 0) >= 100 * MB
    assert outcome.seconds < 60


async def test_one_array_far_too_large_is_a_memory_error_and_says_so(run: Run) -> None:
    outcome = await run("x = bytearray(10**11)")
    assert outcome.reason is ExitReason.OUT_OF_MEMORY
    assert outcome.exit_code == 1
    assert "MemoryError" in outcome.output


async def test_memory_of_a_child_counts(run: Run) -> None:
    # Where the kernel counts, it kills the child alone; where we do, all.
    code = GROW.replace("2000", "150") + "import time; time.sleep(99)"
    outcome = await run(
        f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {code!r}], check=True)", memory_bytes=100 * MB
    )
    assert outcome.reason is ExitReason.OUT_OF_MEMORY
    assert outcome.seconds < 60


async def test_a_file_in_memory_without_a_name_counts_as_memory(run: Run) -> None:
    outcome = await run(
        """
        import tempfile, time
        files = [tempfile.TemporaryFile(dir="/dev/shm", buffering=0) for _ in range(3)]
        for file in files:
            file.write(bytes(32 * 1024**2))
        time.sleep(99)
        """,
        memory_bytes=100 * MB,
    )
    assert outcome.reason is ExitReason.OUT_OF_MEMORY


async def test_a_failing_child_is_noted_though_the_script_ends_well(run: Run) -> None:
    outcome = await run("import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'bytearray(10**11)'])")
    assert outcome.reason is ExitReason.FINISHED
    assert any("memory" in note for note in outcome.notes)


async def test_many_processes_are_ended(run: Run) -> None:
    outcome = await run(
        """
        import os, time
        for _ in range(60):
            if os.fork() == 0:
                time.sleep(99)
        time.sleep(99)
        """,
        processes=40,
    )
    assert outcome.reason is ExitReason.PROCESS_LIMIT
    assert outcome.seconds < 60


async def test_threads_count_as_processes(run: Run) -> None:
    outcome = await run(
        """
        import threading, time
        for _ in range(60):
            threading.Thread(target=time.sleep, args=(99,), daemon=True).start()
        time.sleep(99)
        """,
        processes=40,
    )
    assert outcome.reason is ExitReason.PROCESS_LIMIT


async def test_a_large_file_is_refused(run: Run) -> None:
    outcome = await run("open('big', 'wb').write(bytes(50 * 1024**2))", written_bytes=5 * MB)
    assert outcome.reason is ExitReason.DISK_LIMIT
    assert "5242880" in (outcome.detail or "")


async def test_many_files_that_are_too_large_together_are_too_much(run: Run) -> None:
    outcome = await run(
        "for i in range(10**6): open(f'{i}', 'wb').write(bytes(1024**2))", written_bytes=20 * MB, files=10**6
    )
    assert outcome.reason is ExitReason.DISK_LIMIT


async def test_a_sparse_file_of_a_terabyte_is_refused(run: Run) -> None:
    outcome = await run("open('submission.csv', 'wb').truncate(10**12)")
    assert outcome.reason is ExitReason.DISK_LIMIT
    assert outcome.files == {} or outcome.files["submission.csv"].stat().st_size == 0


@pytest.mark.integration
async def test_two_hundred_thousand_files_are_too_many(run: Run) -> None:
    outcome = await run(
        "import os\nfor i in range(200_000): os.close(os.open(f'{i}', os.O_CREAT | os.O_WRONLY))", files=2000
    )
    assert outcome.reason is ExitReason.DISK_LIMIT
    assert outcome.detail == "It created more than 2000 files."


async def test_folders_without_end_are_too_deep(run: Run) -> None:
    outcome = await run("import os\nfor _ in range(1200):\n    os.mkdir('d')\n    os.chdir('d')\n")
    assert outcome.reason is ExitReason.DISK_LIMIT
    assert "deep" in (outcome.detail or "")


async def test_open_files_without_a_name_count(run: Run) -> None:
    outcome = await run(
        """
        import os, time
        files = []
        for i in range(5):
            files.append(open("f", "wb"))
            files[-1].write(bytes(2 * 1024**2))
            files[-1].flush()
            os.unlink("f")
        time.sleep(99)
        """,
        written_bytes=5 * MB,
    )
    assert outcome.reason is ExitReason.DISK_LIMIT


class NoTree:
    """An execution of which nothing can be seen."""

    def members(self) -> list[psutil.Process]:
        return []

    def tmpfs(self) -> TmpfsUsage:
        return TmpfsUsage()

    def kill(self) -> None:
        pass


def test_it_ends_before_the_machine_has_no_memory_left(tmp_path: Path) -> None:
    plenty = psutil.virtual_memory().total
    _, breach = Watcher(Limits(9), [tmp_path], Reserve(memory_bytes=plenty)).check(NoTree())
    assert breach and breach.reason is ExitReason.OUT_OF_MEMORY and "machine" in breach.detail
    assert Watcher(Limits(9), [tmp_path], Reserve(memory_bytes=0)).check(NoTree())[1] is None


def test_it_ends_before_the_disk_is_full_though_it_hides_what_it_wrote(tmp_path: Path) -> None:
    watcher = Watcher(Limits(9, written_bytes=1_000_000), [tmp_path], Reserve(disk_bytes=shutil.disk_usage("/").total))
    assert watcher.check(NoTree())[1] is None
    with tempfile.TemporaryFile(dir=tmp_path.parent) as hidden:
        os.posix_fallocate(hidden.fileno(), 0, 200_000_000)
        breach = watcher.check_disk()
    assert breach and breach.reason is ExitReason.DISK_LIMIT and "are free on its disk" in breach.detail
