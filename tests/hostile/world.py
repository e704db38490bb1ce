"""The host of an attack: what is planted there to be found, and whether it is afterwards as it was before."""

import contextlib
import ctypes
import os
import re
import secrets
import socket
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import psutil
import pyseccomp

CALLS = (
    *("add_key", "keyctl", "request_key", "io_uring_setup", "bpf", "perf_event_open", "userfaultfd"),
    *("clone", "clone3", "pivot_root", "open_tree", "fsopen", "open_by_handle_at"),
    *("process_vm_readv", "init_module", "finit_module", "delete_module", "kexec_load", "reboot"),
    *("swapon", "adjtimex", "iopl", "syslog", "quotactl", "acct", "shmget", "mq_open", "capset", "getpid"),
    *("pidfd_getfd",),
)
_SYSTEM_FILES = ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sys/kernel/modprobe")
_MARK = "hostile-"
"""Start of whatever scripts leave where they can."""
_SHARED_MEMORY_KEY = 0x0BADCAFE


@dataclass
class World:
    """A folder of the host with secrets in and around it."""

    place: Path
    token: str
    """Part of each secret; it must not come out of any sandbox."""
    hints: dict[str, object] = field(default_factory=dict)
    """What scripts are told: where the secrets are."""
    doors: dict[str, socket.socket] = field(default_factory=dict)
    """Sockets that listen; nobody must come."""

    @property
    def view(self) -> Path:
        """The folder that becomes `data`."""
        return self.place / "view"

    def visitors(self) -> list[str]:
        """Return the sockets at which somebody came."""
        came = []
        for name, door in self.doors.items():
            with contextlib.suppress(BlockingIOError):
                door.recv(100) if door.type == socket.SOCK_DGRAM else door.accept()[0].close()
                came.append(name)
        return came

    def state(self) -> dict[str, object]:
        """Return what an attack must not change."""
        found: dict[str, object] = {name: Path(name).read_text() for name in _SYSTEM_FILES if Path(name).exists()}
        found["files"] = {str(path): _contents(path) for path in _below(self.place)}
        found["marks"] = sorted(
            str(path)
            for folder in ("/tmp", "/var/tmp", "/dev/shm", Path.home(), "/")
            for path in Path(folder).glob(f"{_MARK}*")
        )
        found["mounts"] = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if self._named(line)]
        found["processes"] = self.processes()
        found["descriptors"] = sum(map(_is_no_socket, Path("/proc/self/fd").iterdir()))
        found["shared memory"] = str(_SHARED_MEMORY_KEY) in Path("/proc/sysvipc/shm").read_text().split()
        found["clock"] = round((time.time() - time.monotonic()) / 10)
        return found

    def processes(self) -> list[str]:
        """Return the processes that have a folder of ours mounted, which no script can undo, or that name our folder."""
        found = []
        for process in psutil.process_iter():
            if process.pid == os.getpid():
                continue
            with contextlib.suppress(psutil.Error, OSError):
                inside = self._named(Path(f"/proc/{process.pid}/mountinfo").read_text())
                if inside or self._named(" ".join(process.cmdline())):
                    found.append(f"{process.pid} {process.name()}")
        return found

    def _named(self, text: str) -> bool:
        return self.place.name in text


@contextmanager
def plant(folder: Path) -> Iterator[World]:
    """Plant the secrets, and take them away at the end.

    Args:
        folder: Receives the world's own folder.
    """
    mark = f"{_MARK}{secrets.token_hex(6)}"
    world = World(folder / mark, f"secret-{secrets.token_hex(12)}")
    with ExitStack() as stack:
        _plant_files(world, stack, Path.home() / f".{mark}")
        _plant_environment(world, stack)
        _plant_doors(world, stack, mark)
        _plant_key(world, stack, mark)
        world.hints["calls"] = {name: pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name) for name in CALLS}
        world.hints["mark"] = mark
        yield world


def _plant_files(world: World, stack: ExitStack, at_home: Path) -> None:
    place = world.place
    files = {
        "labels": place / "labels.csv",
        "answers": place / "private" / "answers.csv",
        "other run": place / "runs" / "other" / "submission.csv",
        "database": place / "runs" / "other" / "state.db",
        "evaluator": place / "runs" / "this" / "evaluator" / "labels.csv",
        "other lab": place / "lab2" / "notes.md",
        "home": at_home,
    }
    for path in files.values():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"id,y\n1,{world.token}\n")
    stack.callback(at_home.unlink)
    world.view.mkdir()
    (world.view / "train.csv").write_text("id,x,y\n1,2,3\n")
    (world.view / "sample_submission.csv").write_text("id,y\n1,0\n2,0\n")
    (place / "tmp").mkdir()
    world.hints["files"] = {name: str(path) for name, path in files.items()}
    # An open file that child processes would inherit if nobody closed it.
    descriptor = os.open(files["labels"], os.O_RDONLY)
    stack.callback(os.close, descriptor)
    os.set_inheritable(descriptor, True)


def _plant_environment(world: World, stack: ExitStack) -> None:
    """Put secrets into our environment, that of another process of the host, and the place for temporary files."""
    name = f"{world.place.name}_API_KEY"
    os.environ[name] = world.token
    stack.callback(os.environ.pop, name)
    decoy = subprocess.Popen(["sleep", "1000"], env={"PATH": os.environ["PATH"], "API_KEY": world.token})
    stack.callback(decoy.wait)
    stack.callback(decoy.kill)
    world.hints["decoy"] = decoy.pid
    world.hints["bot"] = os.getpid()
    stack.callback(setattr, tempfile, "tempdir", tempfile.tempdir)
    tempfile.tempdir = str(world.place / "tmp")


def _plant_doors(world: World, stack: ExitStack, mark: str) -> None:
    local = {
        "tcp": (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
        "udp": (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
        "tcp6": (socket.AF_INET6, socket.SOCK_STREAM, ("::1", 0)),
        "abstract": (socket.AF_UNIX, socket.SOCK_STREAM, f"\0{mark}"),
        "path": (socket.AF_UNIX, socket.SOCK_STREAM, str(world.place / "s")),
        "other lab": (socket.AF_UNIX, socket.SOCK_STREAM, str(world.place / "lab2" / "s")),
    }
    for name, (family, kind, address) in local.items():
        door = stack.enter_context(socket.socket(family, kind))
        try:
            door.bind(address)
        except OSError:
            if name != "tcp6":  # which a machine may lack
                raise
            continue
        if kind == socket.SOCK_STREAM:
            door.listen()
        door.setblocking(False)
        world.doors[name] = door
    ports = {name: world.doors[name].getsockname()[1] if name in world.doors else 1 for name in ("tcp", "udp", "tcp6")}
    world.hints |= {"ports": ports, "abstract": f"\0{mark}", "path": str(world.place / "s")}
    world.hints["other lab"] = str(world.place / "lab2")


def _plant_key(world: World, stack: ExitStack, mark: str) -> None:
    """Put a secret into the keyring of our session, where the kernel has any."""
    libc = ctypes.CDLL(None, use_errno=True)
    add_key, keyctl = (pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name) for name in ("add_key", "keyctl"))
    secret = world.token.encode()
    key = libc.syscall(add_key, b"user", mark.encode(), secret, len(secret), -3)
    if key > 0:
        stack.callback(libc.syscall, keyctl, 3, key)  # KEYCTL_REVOKE
    world.hints["key"] = key


def _below(folder: Path) -> Iterator[Path]:
    """Yield all below a folder, but for what executions leave, which is looked at by itself."""
    for path in sorted(folder.rglob("*")):
        if not re.match(r"out\b", str(path.relative_to(folder))):
            yield path


def _contents(path: Path) -> tuple[int, int, str]:
    status = path.lstat()
    digest = sha256(path.read_bytes()).hexdigest() if stat.S_ISREG(status.st_mode) else ""
    return status.st_mode, status.st_nlink if stat.S_ISREG(status.st_mode) else 0, digest


def _is_no_socket(descriptor: Path) -> bool:
    """Return whether a descriptor of ours is none of the connections that a client may keep for the next request."""
    with contextlib.suppress(OSError):
        return not stat.S_ISSOCK(descriptor.stat().st_mode)
    return False
