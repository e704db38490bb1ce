"""Tests of what a lab must not reach; it has the walls of an execution, and an agent of its own to protect."""

import os
import socket
import sys
from pathlib import Path

import pytest

import sandbox
from sandbox.docker import DockerSandbox
from sandbox.execution import LocalSandbox
from tests.sandbox.lab.conftest import Shell, cores

LOOKS = """
import glob
for path in glob.glob("/proc/[0-9]*/{}"):
    try:
        print(path, open(path, "rb").read())
    except OSError:
        pass
"""


def quoted(script: str) -> str:
    return f"python3 - <<'END'\n{script}\nEND"


async def test_there_is_no_network(shell: Shell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        said = await shell.prints(
            quoted(
                f"import socket\nfor address in (('127.0.0.1', {port}), ('192.0.2.1', 80)):\n"
                "    try: socket.create_connection(address, 2); print('connected')\n"
                "    except OSError as error: print(type(error).__name__)\n"
                "print(socket.if_nameindex())"
            )
        )
    assert said == "ConnectionRefusedError\nOSError\n[(1, 'lo')]"


async def test_labels_and_files_of_the_host_are_not_there(shell: Shell, isolated: LocalSandbox, tmp_path: Path) -> None:
    paths = [tmp_path / "labels.csv", shell.request.folder, Path(sandbox.__file__), Path("/var/run/docker.sock")]
    if not isinstance(isolated, DockerSandbox):
        paths += [Path("/etc/shadow"), Path("/home"), Path("/run"), Path("/sys/kernel")]
    paths = [path for path in paths if not Path(sys.prefix).is_relative_to(path)]
    assert await shell.prints(f"ls -d {' '.join(map(str, paths))} 2>/dev/null; wc -l </etc/passwd") == "1"


async def test_no_environment_or_command_line_tells_of_the_bot(isolated, lab_request, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "planted-secret")
    async with isolated.open_lab(lab_request) as lab:
        shell = Shell(lab, lab_request)
        said = await shell.prints("env; " + quoted(LOOKS.format("environ")) + "\n" + quoted(LOOKS.format("cmdline")))
    assert "BOT_TIME_LIMIT" in said
    assert "planted" not in said
    assert str(lab_request.folder) not in said


async def test_a_command_keeps_to_its_cores_whatever_it_asks_for(shell: Shell) -> None:
    own = cores()
    widen = quoted(f"import os\nos.sched_setaffinity(0, {own})\nprint(sorted(os.sched_getaffinity(0)))")
    for core in own:
        result = await shell.type(widen, cpus=(core,))
        assert (result.exit_code, result.output) == (0, f"[{core}]\n")
    assert (await shell.type(widen, cpus=tuple(own))).output == f"{own}\n"


async def test_a_job_keeps_the_cores_of_its_command(shell: Shell) -> None:
    own = cores()
    if len(own) < 2:
        pytest.skip("one core")
    allowed = "grep Cpus_allowed_list /proc/self/status | tr -d '\\n'"
    await shell.type(f"(sleep 0.5; {allowed}) &", cpus=(own[1],))
    assert (await shell.type(allowed, cpus=(own[0],))).output.endswith(f"\t{own[0]}")
    await shell.lab.wait_idle()
    assert (await shell.prints("cat /lab/logs/1.txt")).endswith(f"\t{own[1]}")


async def test_a_core_that_there_is_not_is_an_error_of_that_command_alone(shell: Shell) -> None:
    result = await shell.type("true", cpus=(4000,))
    assert result.exit_code == 126
    assert "could not be started" in result.output
    assert await shell.prints("echo works") == "works"


async def test_dangerous_system_calls_stay_refused(shell: Shell) -> None:
    if os.uname().machine != "x86_64":
        pytest.skip("the numbers of system calls here are those of x86_64")
    calls = quoted(
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "for number, *a in ((272, 0x10000000), (165, b'none', b'/tmp', b'tmpfs', 0, 0), (101, 16, 2, 0, 0), (250, 0, -3, 0)):\n"
        "    print(libc.syscall(number, *a), ctypes.get_errno() != 0)"
    )
    assert await shell.prints(calls) == "\n".join(["-1 True"] * 4)
