"""Tests of what goes on in the background, and of what a time-out takes along."""

import asyncio
import re
import time

import pytest

from tests.sandbox.lab.conftest import Shell

COUNT = "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -o 'sleep [9]8' | wc -l"


async def until(shell: Shell, command: str, said: str) -> None:
    """Repeat a command until it prints this."""
    deadline = time.monotonic() + 10
    while await shell.prints(command) != said:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)


@pytest.mark.integration
async def test_a_job_goes_on_while_other_commands_run_and_prints_into_its_own_log(shell: Shell) -> None:
    result = await shell.type("for i in 1 2 3 4; do sleep 0.3; echo step $i; done & echo started")
    assert (result.output, result.exit_code) == ("started\n", 0)
    assert 1 <= result.jobs <= 2
    assert await shell.prints("echo meanwhile") == "meanwhile"
    await shell.lab.wait_idle()
    assert await shell.prints("cat /lab/logs/1.txt") == "started\nstep 1\nstep 2\nstep 3\nstep 4"


async def test_an_idle_lab_waits_for_nothing(shell: Shell) -> None:
    await asyncio.wait_for(shell.lab.wait_idle(), 60)
    assert (await shell.type("true")).jobs == 0
    await asyncio.wait_for(shell.lab.wait_idle(), 60)


async def test_jobs_are_named_by_their_command_lines_without_what_only_waits_for_them(shell: Shell) -> None:
    program = "import time; time.sleep(98)"
    await shell.type(f"for i in 1 2; do timeout 200 python3 -c '{program}' & done; sleep 97 &")
    deadline = time.monotonic() + 10
    while not (result := await shell.type("true")).running:
        assert time.monotonic() < deadline
    (named,) = result.running
    assert re.fullmatch(rf"python3 -c {re.escape(program)} \(\d+ s\)", named)
    long, deadline = "x" * 1000, time.monotonic() + 10
    await shell.type(f"for i in 1 2 3 4 5 6 7; do python3 -c 'import time; time.sleep(98)' $i {long} & done")
    while len((result := await shell.type("true")).running) < 5:
        assert time.monotonic() < deadline
    assert len(result.running) == 5 and all(len(one) < 80 for one in result.running)


async def test_jobs_that_print_a_lot_are_read_to_their_end(shell: Shell) -> None:
    await shell.type("(sleep 0.2; seq 1000000; echo done >finished) &")
    await asyncio.wait_for(shell.lab.wait_idle(), 60)
    assert await shell.prints("cat finished; tail -1 /lab/logs/1.txt") == "done\n1000000"


@pytest.mark.integration
@pytest.mark.parametrize(
    "command",
    [
        "sleep 98",
        "sleep 98 & sleep 98",
        "set -m; sleep 98 & sleep 98",
        "trap '' TERM INT; (sleep 98; sleep 98) | cat",
        "python3 -c 'import os, time; os.fork(); os.setpgid(0, 0) if os.getpid() != os.getsid(0) else 0; time.sleep(98)'",
    ],
)
async def test_a_time_out_takes_the_whole_session_along(shell: Shell, command: str) -> None:
    began = time.monotonic()
    result = await shell.type(f"echo before; {command}; echo never", seconds=1)
    assert time.monotonic() - began < 60
    assert (result.output, result.exit_code, result.timed_out, result.notice) == ("before\n", None, True, None)
    assert result.jobs == 0
    assert await shell.prints(COUNT) == "0"


@pytest.mark.integration
async def test_what_left_its_session_survives_a_time_out(shell: Shell) -> None:
    result = await shell.type("setsid sleep 98 & sleep 99", seconds=1)
    assert (result.timed_out, result.jobs) == (True, 1)
    assert await shell.prints(COUNT) == "1"


@pytest.mark.integration
async def test_an_earlier_job_survives_a_time_out(shell: Shell) -> None:
    await shell.type("sleep 98 &")
    result = await shell.type("sleep 99", seconds=1)
    assert (result.timed_out, result.jobs) == (True, 1)


async def test_orphans_are_reaped(shell: Shell) -> None:
    await shell.type("for i in $(seq 20); do (sleep 0.2 &); done")
    await until(shell, "grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null | wc -l", "0")


async def test_a_cancelled_command_is_ended_and_the_next_one_runs(shell: Shell) -> None:
    running = asyncio.create_task(shell.type("sleep 98; echo never"))
    await asyncio.sleep(0.3)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await shell.prints(COUNT) == "0"
