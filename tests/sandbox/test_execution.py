"""Tests of one execution from request to outcome, in each back end."""

import asyncio
import os
import sys
import time
import uuid
from pathlib import Path

import psutil
import pytest

from sandbox import ExitReason, Sandbox
from sandbox.bubblewrap import BubblewrapSandbox
from tests.sandbox.conftest import Run, make_request
from tests.sandbox.test_limits import alive


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_a_script_finds_an_empty_folder_with_its_data_and_what_it_writes_is_kept(run: Run, place: Path) -> None:
    outcome = await run(
        """
        import os
        print(os.listdir("."), open("data/train.csv").read())
        open("submission.csv", "w").write("id\\n1\\n")
        open("validation_predictions.csv", "w").write("id\\n2\\n")
        open("other.csv", "w").write("not asked for")
        """
    )
    assert outcome.reason is ExitReason.FINISHED
    assert outcome.exit_code == 0
    assert outcome.output == "['data'] id,x\n1,2\n\n"
    assert {name: path.read_text() for name, path in outcome.files.items()} == {
        "submission.csv": "id\n1\n",
        "validation_predictions.csv": "id\n2\n",
    }
    assert names(place / "out") == ["log.txt", "submission.csv", "validation_predictions.csv"]
    assert (place / "out" / "log.txt").read_text() == outcome.output
    assert outcome.cpu_seconds is None or outcome.cpu_seconds > 0  # a container may end before it is measured
    assert outcome.seconds > 0


@pytest.mark.integration
async def test_the_processor_time_is_that_of_the_script(run: Run) -> None:
    outcome = await run("import time\nwhile time.process_time() < 1.5: pass")
    assert outcome.reason is ExitReason.FINISHED
    # Of a container it is what the last sample said, up to a second before its end.
    assert outcome.cpu_seconds is not None and 0.4 < outcome.cpu_seconds < 3.0


async def test_an_error_is_reported_with_its_traceback_and_source_line(run: Run) -> None:
    outcome = await run("x = 1\nraise ValueError('wrong')  # here\n")
    assert outcome.reason is ExitReason.ERROR
    assert "# here" in outcome.output
    assert outcome.output.endswith("ValueError: wrong\n")


async def test_a_file_from_an_earlier_execution_is_never_taken_for_this_ones(run: Run, place: Path) -> None:
    first = await run("open('submission.csv', 'w').write('old')")
    assert "submission.csv" in first.files
    second = await run("print('nothing')")
    assert second.files == {}
    assert names(place / "out") == ["log.txt"]


async def test_what_a_killed_attempt_left_is_gone(run: Run, place: Path) -> None:
    left = place / "out" / ".execution" / "work"
    left.mkdir(parents=True)
    (left / "submission.csv").write_text("old")
    outcome = await run("import os; print(os.listdir('.'))")
    assert outcome.output == "['data']\n"


async def test_a_locked_folder_is_removed_too(run: Run, place: Path) -> None:
    await run("import os\nos.makedirs('a/b')\nos.chmod('a/b', 0)\nos.chmod('a', 0)")
    assert names(place / "out") == ["log.txt"]


async def test_the_environment_is_clean_and_holds_the_limits(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED", "secret")
    outcome = await run(
        "import os; print(*(f'{k}={v}' for k, v in sorted(os.environ.items())), sep='\\n')",
        environment={"EXTRA": "1"},
        seconds=12.5,
        cpus=1,
    )
    lines = outcome.output.splitlines()
    assert {"BOT_TIME_LIMIT=12.5", "BOT_CPUS=1", "BOT_GPUS=0", "EXTRA=1", "LANG=C.UTF-8"} <= set(lines)
    assert {"OMP_NUM_THREADS=1", "LOKY_MAX_CPU_COUNT=1", "PYTHONHASHSEED=0", "MPLBACKEND=Agg"} <= set(lines)
    assert not any("PLANTED" in line or "secret" in line for line in lines)


async def test_a_script_runs_on_as_many_cores_as_it_may(run: Run) -> None:
    outcome = await run("import os; print(len(os.sched_getaffinity(0)))", cpus=1)
    assert outcome.output == "1\n"


async def test_cancelling_kills_the_code_and_is_raised_again(sandbox: Sandbox, place: Path) -> None:
    token = uuid.uuid4().hex
    script = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import time; time.sleep(99) # {token}'])"
    task = asyncio.create_task(sandbox.run(make_request(place, script)))
    while not alive(token):
        await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert alive(token) == []
    assert not (place / "out" / ".execution").exists()


async def test_several_run_at_once(sandbox: Sandbox, place: Path) -> None:
    requests = [make_request(place, f"print({i})", out=place / f"out{i}") for i in range(6)]
    outcomes = await asyncio.gather(*(sandbox.run(request) for request in requests))
    assert [outcome.output for outcome in outcomes] == [f"{i}\n" for i in range(6)]


async def test_a_missing_view_is_the_engines_failure(sandbox: Sandbox, place: Path) -> None:
    (place / "view").rename(place / "elsewhere")
    outcome = await sandbox.run(make_request(place, "print(1)"))
    assert outcome.reason is ExitReason.INFRASTRUCTURE
    assert outcome.output == ""
    assert "view" in (outcome.detail or "")


async def test_a_folder_that_cannot_be_made_is_the_engines_failure(sandbox: Sandbox, place: Path) -> None:
    (place / "out").write_text("a file where the folder should be")
    outcome = await sandbox.run(make_request(place, "print(1)"))
    assert outcome.reason is ExitReason.INFRASTRUCTURE


async def test_a_sandbox_that_does_not_start_is_the_engines_failure(bubblewrap, place, monkeypatch) -> None:
    broken = place / "bin"
    broken.mkdir()
    (broken / "bwrap").write_text("#!/bin/sh\necho 'bwrap: Creating new namespace failed' >&2\nexit 1\n")
    (broken / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{broken}:{os.environ['PATH']}")
    outcome = await bubblewrap.run(make_request(place, "print(1)"))
    assert outcome.reason is ExitReason.INFRASTRUCTURE
    assert outcome.output == ""
    assert "Creating new namespace failed" in (outcome.detail or "")


async def test_a_script_cannot_feign_the_engines_failure(run: Run) -> None:
    outcome = await run("import sys; print('bwrap: Creating new namespace failed', file=sys.stderr); sys.exit(1)")
    assert outcome.reason is ExitReason.ERROR


async def test_a_run_folder_that_scripts_could_read_is_refused(bubblewrap: BubblewrapSandbox, place: Path) -> None:
    outcome = await bubblewrap.run(make_request(place, "print(1)", out=Path(sys.prefix) / "lib" / "out"))
    assert outcome.reason is ExitReason.INFRASTRUCTURE
    assert "which scripts can read" in (outcome.detail or "")


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".", "log.txt", "data"])
async def test_a_kept_name_must_be_plain(sandbox: Sandbox, place: Path, name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        await sandbox.run(make_request(place, "", keep=(name,)))


@pytest.mark.integration
async def test_libraries_that_start_threads_and_processes_work(run_isolated: Run) -> None:
    outcome = await run_isolated(
        """
        import multiprocessing, subprocess, sys
        import numpy as np
        from concurrent.futures import ThreadPoolExecutor
        from joblib import Parallel, delayed
        if __name__ == "__main__":
            print(float(np.linalg.norm(np.ones((300, 300)) @ np.ones((300, 300)))))
            print(Parallel(n_jobs=2)(delayed(abs)(-i) for i in range(3)))
            for method in ("fork", "spawn"):
                with multiprocessing.get_context(method).Pool(2) as pool:
                    print(pool.map(abs, [-1, -2]))
            with ThreadPoolExecutor(2) as threads:
                print(list(threads.map(abs, [-1])))
            print(subprocess.check_output(["id", "-un"], text=True))
        """,
        memory_bytes=2 * 1024**3,
    )
    assert outcome.output.split("\n") == ["90000.0", "[0, 1, 2]", "[1, 2]", "[1, 2]", "[1]", "solution", "", ""]


@pytest.mark.integration
async def test_memory_that_forked_workers_share_counts_once(run: Run) -> None:
    outcome = await run(
        """
        import os, time
        data = bytearray(b"x") * (60 * 1024**2)
        for _ in range(4):
            if os.fork() == 0:
                time.sleep(0.8)
                os._exit(0)
        for _ in range(4):
            os.wait()
        """,
        memory_bytes=150 * 1024**2,
    )
    assert outcome.reason is ExitReason.FINISHED, outcome


@pytest.mark.parametrize("code", ["import sys; sys.exit(3)", "import os; os._exit(3)"])
async def test_the_exit_code_is_the_scripts(run: Run, code: str) -> None:
    outcome = await run(code)
    assert (outcome.reason, outcome.exit_code) == (ExitReason.ERROR, 3)


async def test_a_signal_is_named(run: Run) -> None:
    outcome = await run("import os; os.kill(os.getpid(), 11)")
    assert (outcome.reason, outcome.exit_code) == (ExitReason.ERROR, 139)
    assert outcome.detail == "It was killed by SIGSEGV."


PROGRAM = """
import asyncio, sys
from pathlib import Path
from sandbox import ExecutionRequest, Limits
from sandbox.{module} import {name}
place = Path(sys.argv[1])
script = "import time; open('started', 'w').close()\\ntime.sleep(99)"
asyncio.run({name}().run(ExecutionRequest("killed", script, place / "view", place / "out", Limits(99))))
"""


@pytest.mark.integration
@pytest.mark.parametrize("sandbox", ["process", "bubblewrap"], indirect=True)
async def test_a_killed_bot_leaves_no_script_running(sandbox: Sandbox, place: Path) -> None:
    kind = type(sandbox)
    program = place / "program.py"
    program.write_text(PROGRAM.format(module=kind.__module__.split(".")[-1], name=kind.__name__))
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "TMPDIR": str(place)}
    with psutil.Popen([sys.executable, str(program), str(place)], env=environment) as bot:
        deadline = time.monotonic() + 20
        while not (place / "out" / ".execution" / "work" / "started").exists():
            assert time.monotonic() < deadline
            await asyncio.sleep(0.02)
        # Once it runs: on the way there it may still be ours, and easier to end than as another user.
        found = [p for p in bot.children(recursive=True) if "solution.py" in " ".join(p.cmdline())]
        bot.kill()
    _, left = psutil.wait_procs(found, timeout=10)
    assert [p for p in left if p.status() != psutil.STATUS_ZOMBIE] == []
