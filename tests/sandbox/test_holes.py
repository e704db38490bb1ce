"""Tests of what a script must not reach where it is isolated: one hole a test."""

import ctypes
import os
import platform
import re
import socket
import sys
from pathlib import Path

import pytest

import sandbox
from sandbox import ExitReason, Outcome, Sandbox
from sandbox.docker import DockerSandbox
from tests import needs
from tests.sandbox.conftest import Run

MB = 1024**2


def printed(outcome: Outcome) -> str:
    assert outcome.reason is ExitReason.FINISHED, outcome
    return outcome.output.strip()


async def test_no_process_inside_carries_the_bots_environment(
    run_isolated: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "planted-secret")
    outcome = await run_isolated(
        """
        import glob, os
        for path in glob.glob("/proc/*/environ") + glob.glob("/proc/*/cmdline"):
            try:
                print(path, open(path).read())
            except PermissionError:
                print(path, "another user's")
        print(dict(os.environ))
        """
    )
    text = printed(outcome)
    assert "/proc/1/environ" in text
    assert "planted" not in text
    assert str(Path.home()) not in re.sub(re.escape(sys.prefix), "", text)


async def test_the_session_keyring_is_out_of_reach(run_isolated: Run) -> None:
    _x86()
    libc = ctypes.CDLL(None, use_errno=True)
    key = libc.syscall(248, b"user", b"bot-test", b"planted-secret", 14, -3)  # add_key, to the session's keyring
    if key < 0:
        pytest.skip("this kernel gives no keyring")
    outcome = await run_isolated(
        f"""
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        buffer = ctypes.create_string_buffer(100)
        print(libc.syscall(250, 11, {key}, buffer, 100), ctypes.get_errno(), buffer.value)  # KEYCTL_READ
        print(libc.syscall(250, 10, -3, b"user", b"bot-test", 0), ctypes.get_errno())  # KEYCTL_SEARCH
        """
    )
    assert printed(outcome).splitlines() == ["-1 1 b''", "-1 1"]


async def test_the_kernels_settings_cannot_be_written(run_isolated: Run) -> None:
    outcome = await run_isolated(
        """
        import os
        for folder, _, files in os.walk("/proc/sys"):
            for name in files:
                try:
                    os.close(os.open(f"{folder}/{name}", os.O_WRONLY))
                    print("open", folder, name)
                except OSError:
                    pass
        for path in ("/proc/sysrq-trigger", "/proc/1/oom_score_adj", "/proc/kcore"):
            try:
                os.close(os.open(path, os.O_WRONLY))
                print("open", path) if "oom" not in path else None
            except OSError:
                pass
        """
    )
    assert printed(outcome) == ""


async def test_root_inside_is_not_root_outside(run_isolated: Run) -> None:
    needs.root()
    outcome = await run_isolated("print(open('/proc/self/uid_map').read().split(), __import__('os').getuid())")
    mapping, user = printed(outcome).rsplit(" ", 1)
    assert mapping == str(Path("/proc/self/uid_map").read_text().split())  # no namespace that could hide uid 0
    assert int(user) >= 65534


async def test_each_execution_of_root_has_a_user_of_its_own(run_bubblewrap: Run) -> None:
    needs.root()
    users = {printed(await run_bubblewrap("import os; print(os.getuid(), os.getgroups())")) for _ in range(2)}
    assert len(users) == 2


async def test_there_are_no_capabilities_and_none_to_gain(run_isolated: Run) -> None:
    outcome = await run_isolated("print(open('/proc/self/status').read())")
    lines = dict(line.split(":\t") for line in printed(outcome).splitlines() if ":\t" in line)
    names = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
    assert {lines[name] for name in names} == {"0" * 16}
    assert (lines["NoNewPrivs"], lines["Seccomp"]) == ("1", "2")


async def test_the_kernel_itself_stops_a_fork_bomb(run_isolated: Run) -> None:
    outcome = await run_isolated(
        """
        import os, time
        for i in range(1000):
            try:
                if os.fork() == 0:
                    time.sleep(99)
            except BlockingIOError:
                print("refused", flush=True)
                break
            print(i, flush=True)
        time.sleep(99)
        """,
        processes=30,
    )
    assert outcome.reason is ExitReason.PROCESS_LIMIT
    numbers = [int(line) for line in outcome.output.split() if line.isdigit()]
    assert max(numbers) <= 30 + 16


async def test_only_the_working_folder_and_sized_memory_can_be_written(run_isolated: Run, isolated: Sandbox) -> None:
    work = "/work" if isinstance(isolated, DockerSandbox) else "/solution/work"
    outcome = await run_isolated(
        """
        import os
        writable = set()
        for folder, folders, _ in os.walk("/"):
            if folder in ("/proc", os.getcwd()) or folder.count("/") > 3:
                folders.clear()
            try:
                open(folder + "/probe", "w").close()
                writable.add(folder)
                os.unlink(folder + "/probe")
            except OSError:
                pass
        print(sorted(writable), os.access("data", os.W_OK))
        for folder in ("/tmp", "/dev/shm"):
            status = os.statvfs(folder)
            print(status.f_blocks * status.f_frsize // 1024**2)
        """,
        memory_bytes=64 * MB,
    )
    # The kernel limits message queues of its own accord, to less than a megabyte a user.
    folders = sorted(["/dev/shm", work, "/tmp", *(["/dev/mqueue"] if work == "/work" else [])])
    assert printed(outcome).splitlines() == [f"{folders} False", "64", "64"]


@pytest.mark.parametrize("folder", ["/tmp", "/dev/shm"])
async def test_files_in_memory_count_as_memory(run_isolated: Run, folder: str) -> None:
    outcome = await run_isolated(
        f"""
        import time
        for i in range(12):
            with open(f"{folder}/{{i}}", "wb") as file:
                file.write(bytes(5 * 1024**2))
        time.sleep(99)
        """,
        memory_bytes=64 * MB,
    )
    assert outcome.reason is ExitReason.OUT_OF_MEMORY
    assert outcome.seconds < 60


async def test_many_files_in_memory_are_too_many(run_isolated: Run) -> None:
    outcome = await run_isolated(
        "import os\nfor i in range(10**6): os.close(os.open(f'/tmp/{i}', os.O_CREAT | os.O_WRONLY))", files=2000
    )
    assert outcome.reason is ExitReason.DISK_LIMIT


CALLS = {
    "io_uring_setup": ("425, 1, buffer", 38),
    "userfaultfd": ("323, 0", 1),
    "keyctl": ("250, 0, -3, 0", 1),
    "add_key": ("248, b'user', b'a', b'b', 1, -3", 1),
    "request_key": ("249, b'user', b'a', 0, 0", 1),
    "ptrace": ("101, 0, 0, 0, 0", 1),
    "process_vm_readv": ("310, 1, buffer, 1, buffer, 1, 0", 1),
    "vsock": ("41, 40, 1, 0", 97),
    "packet socket": ("41, 17, 3, 0", 97),
    "unshare user": ("272, 0x10000000", 1),
    "clone user": ("56, 0x10000011, 0, 0, 0, 0", 1),
    "clone3": ("435, buffer, 88", 38),
    "mount": ("165, b'none', b'/tmp', b'tmpfs', 0, 0", 1),
    "bpf": ("321, 0, buffer, 72", 1),
    "perf_event_open": ("298, buffer, 0, -1, -1, 0", 1),
    "kexec_load": ("246, 0, 0, 0, 0", 1),
    "init_module": ("175, buffer, 1, b''", 1),
    "shmget": ("29, 0, 4096, 0x3b6", 1),
    "TIOCSTI": ("16, 0, 0x5412, b'a'", 1),
}


async def test_dangerous_system_calls_are_refused(run_bubblewrap: Run) -> None:
    _x86()
    calls = "\n".join(
        f"print({name!r}, libc.syscall({arguments}), ctypes.get_errno())" for name, (arguments, _) in CALLS.items()
    )
    head = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nbuffer = ctypes.create_string_buffer(200)\n"
    outcome = await run_bubblewrap(head + calls)
    assert printed(outcome).splitlines() == [f"{name} -1 {error}" for name, (_, error) in CALLS.items()]


async def test_there_is_no_network(run_isolated: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as hidden:
        hidden.bind(f"\0bot-test-{os.getpid()}")
        hidden.listen()
        outcome = await run_isolated(
            f"""
            import socket
            for family, address in (
                (socket.AF_INET, ("127.0.0.1", {server.getsockname()[1]})),
                (socket.AF_INET, ("192.0.2.1", 80)),
                (socket.AF_UNIX, "\\0bot-test-{os.getpid()}"),
            ):
                try:
                    socket.socket(family).connect(address)
                    print("connected", address)
                except OSError as error:
                    print(type(error).__name__)
            print(socket.if_nameindex())
            """
        )
    lines = printed(outcome).splitlines()
    assert lines == ["ConnectionRefusedError", "OSError", "ConnectionRefusedError", "[(1, 'lo')]"]


async def test_labels_secrets_and_the_bots_own_files_are_not_there(
    run_isolated: Run, isolated: Sandbox, place: Path
) -> None:
    ours = Path(sandbox.__file__)
    paths = [place / "labels.csv", place / "view" / "train.csv", ours, ours.parent.parent / "pyproject.toml"]
    paths += [Path(__file__), Path("/var/run/docker.sock")]
    if not isinstance(isolated, DockerSandbox):  # an image has system folders of its own
        paths += [Path("/etc/shadow"), Path("/sys/kernel"), Path("/var"), Path("/home"), Path("/run")]
    # The folders above the Python environment are there, with nothing else in them.
    paths = [path for path in paths if not Path(sys.prefix).is_relative_to(path)]
    outcome = await run_isolated(
        f"""
        import os, sys
        for path in {[str(path) for path in paths]}:
            if os.path.exists(path):
                print(path, "is there")
        home = os.path.expanduser("~")
        found = [name for name in os.listdir(home) if not sys.prefix.startswith(os.path.join(home, name, ""))]
        print(open("/etc/passwd").read().count(chr(10)), found)
        print(sorted(os.listdir("data")))
        """
    )
    assert printed(outcome).splitlines() == ["1 []", "['train.csv']"]


async def test_our_packages_cannot_be_imported(run_isolated: Run) -> None:
    outcome = await run_isolated("import sandbox")
    assert outcome.reason is ExitReason.ERROR
    assert "Error" in outcome.output


async def test_no_open_descriptor_leads_out(run_isolated: Run) -> None:
    outcome = await run_isolated(
        """
        import glob, os, stat
        for path in glob.glob("/proc/[0-9]*/fd/*"):
            try:
                mode = os.stat(path).st_mode
            except OSError:
                continue
            if stat.S_ISDIR(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode):
                print(path, os.readlink(path))
        try:
            print(sorted(os.listdir("/proc/1/root")) == sorted(os.listdir("/")))
        except PermissionError:
            print(True)  # another user's
        """
    )
    lines = [line for line in printed(outcome).splitlines() if "/proc/" not in line.split(" ")[-1]]
    assert lines == ["True"]


async def test_the_view_cannot_be_changed(run_isolated: Run, place: Path) -> None:
    outcome = await run_isolated("open('data/train.csv', 'a')")
    assert outcome.reason is ExitReason.ERROR
    assert "OSError" in outcome.output or "PermissionError" in outcome.output
    assert (place / "view" / "train.csv").read_text() == "id,x\n1,2\n"


def _x86() -> None:
    if platform.machine() != "x86_64":
        pytest.skip("the numbers of system calls here are those of x86_64")
