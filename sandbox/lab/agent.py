"""The process inside a lab that starts commands and passes on what they print; standard library only, run by its path.

It reads orders on its stdin, each a length and JSON, and writes frames on its stdout, each a header and its content.
It ends when its stdin does. Commands are processes of the same user: they may kill or stop it, but not look into it.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import resource
import selectors
import signal
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

LENGTH = struct.Struct("!I")
HEADER = struct.Struct("!BII")
"""Of a frame: its kind, the number of the command that it is about, and the length of its content."""
READY, OUTPUT, LEFT_OUT, CLOSED, EXITED, IDLE, ENDED = range(7)
"""Kinds of frames: it has started; a piece of output; so many bytes that are not passed on; there is no more output; JSON
on how a command ended; no process is left of so many commands; the order to end all was carried out."""
CHUNK = 1 << 16
"""Most bytes in a frame."""
TAIL = 1 << 17
"""Bytes of the end of an output that are passed on, however much is left out before them."""
NAMES, NAME = 5, 60
"""Most processes that are named when a command has ended, and most characters of a command line."""
COMMAND_FD = 250
"""Where a command's shell reads what it is to do."""
WORK = "/lab/work"

_PIPE_BYTES = 1 << 20
_PIPE_LEAST = 1 << 16
_SMALL = CHUNK // 16
_BREATH = 0.002
"""Seconds in which more may come of an output that comes in small pieces: each costs the bot as much as a large one."""
_ROUNDS = 200
_PAUSE = 0.01
_EXIT_REFUSED = 126
_LOOKED_AT = 50
_WAITING_PROGRAMS = ("bash", "sh", "timeout", "nohup", "setsid", "tee", "sleep", "tail")
"""Programs that are not named: they wait for those that are."""
_SET_DUMPABLE, _SET_SECCOMP, _SET_CHILD_SUBREAPER, _SET_NO_NEW_PRIVS = 4, 22, 36, 38
_FILTER_MODE = 2


class _Program(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


class _Process(NamedTuple):
    pid: int
    group: int
    session: int
    started: int
    """In ticks of the clock since the machine started."""


@dataclass
class _Output:
    number: int
    pipe: int
    keep: int
    """Bytes that are passed on before only the end is."""
    left_out: int = 0
    tail: bytearray = field(default_factory=bytearray)


@dataclass
class _Command:
    shell: int
    output: _Output


class LabAgent:
    """Carries out orders."""

    def __init__(self, orders: int, frames: int, filter_file: str) -> None:
        """Take the descriptors of its channel, and a filter of system calls that commands get, which may be empty."""
        self._orders, self._frames = orders, frames
        self._received = bytearray()
        self._command: _Command | None = None
        self._outputs: dict[int, _Output] = {}
        self._busy = False
        self._small = False
        self._runs = 0
        self._libc = ctypes.CDLL(None, use_errno=True)
        program = Path(filter_file).read_bytes()
        self._program = _Program(len(program) // 8, program)
        self._libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        self._libc.prctl(_SET_DUMPABLE, 0, 0, 0, 0)
        self._libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._selector = selectors.DefaultSelector()
        self._watch(orders, self._read_orders)
        wake_pipe, wake = os.pipe()
        for end in (wake_pipe, wake):
            os.set_blocking(end, False)
        for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
            signal.signal(ignored, signal.SIG_IGN)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._watch(wake_pipe, lambda: self._reap(wake_pipe))

    def serve(self) -> None:
        """Carry out orders until their end."""
        self._send(READY, 0)
        while True:
            self._small = False
            for key, _ in self._selector.select():
                now = self._selector.get_map().get(key.fd)
                if now and now.data is key.data:  # not given up meanwhile
                    key.data()
            if self._small:
                time.sleep(_BREATH)

    def _watch(self, descriptor: int, act: Callable[[], object]) -> None:
        self._selector.register(descriptor, selectors.EVENT_READ, act)

    def _read_orders(self) -> None:
        chunk = os.read(self._orders, CHUNK)
        if not chunk:
            sys.exit()
        self._received += chunk
        while len(self._received) >= LENGTH.size:
            end = LENGTH.size + LENGTH.unpack_from(self._received)[0]
            if len(self._received) < end:
                return
            order = json.loads(self._received[LENGTH.size : end])
            del self._received[:end]
            if order["do"] == "run":
                self._run(order)
            elif order["do"] == "kill":
                self._kill_session(order["number"])
            else:
                self._end_all(order["cleaning"])

    def _send(self, kind: int, number: int, content: bytes = b"") -> None:
        remaining = memoryview(HEADER.pack(kind, number, len(content)) + content)
        while remaining:
            remaining = remaining[os.write(self._frames, remaining) :]

    def _run(self, order: dict[str, Any]) -> None:
        self._busy = True
        self._runs += 1
        number = order["number"]
        pipe, pipe_end = os.pipe()
        os.set_blocking(pipe, False)
        output = _Output(number, pipe, order["keep"])
        self._outputs[number] = output
        self._watch(pipe, lambda: self._pass_on(output))
        try:
            shell = os.fork()
        except OSError as error:
            os.write(pipe_end, f"The command could not be started: {error}\n".encode())
            shell = 0
        else:
            if shell == 0:
                self._become(order, pipe_end)
        os.close(pipe_end)
        self._command = _Command(shell, output)
        if not shell:
            self._finish(_EXIT_REFUSED)
            self._reap()

    def _become(self, order: dict[str, Any], output: int) -> NoReturn:
        try:
            os.setsid()
            for target in (1, 2):
                os.dup2(output, target)
            signal.set_wakeup_fd(-1)
            for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
                with contextlib.suppress(OSError):
                    signal.signal(number, signal.SIG_DFL)
            os.sched_setaffinity(0, order["cpus"])
            if limit := order["file_bytes"]:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            if self._program.length:
                self._libc.prctl(_SET_SECCOMP, _FILTER_MODE, ctypes.byref(self._program), 0, 0)
            _enter_work()
            # By a descriptor, not as an argument: `pkill -f train.py` would end the command that says so.
            text, text_end = os.pipe()
            command = order["command"].encode(errors="surrogateescape") + b"\n"
            fcntl.fcntl(text_end, fcntl.F_SETPIPE_SZ, max(_PIPE_LEAST, len(command)))
            os.set_blocking(text_end, False)
            if os.write(text_end, command) < len(command):
                raise OSError("it is too long")
            os.dup2(text, COMMAND_FD)
            os.close(text_end)
            os.execvpe("bash", ["bash", f"/dev/fd/{COMMAND_FD}"], order["environment"])  # noqa: S606 - our trade
        except BaseException as error:
            os.write(2, f"The command could not be started: {error}\n".encode(errors="replace"))
        finally:
            os._exit(_EXIT_REFUSED)

    def _pass_on(self, output: _Output, limit: int = CHUNK) -> bool:
        """Pass on what a command has printed; return whether there may be more of it."""
        try:
            chunk = os.read(output.pipe, min(limit, CHUNK))
        except BlockingIOError:
            return False
        if not chunk:
            self._close(output)
            return False
        self._small = len(chunk) < _SMALL
        size = min(len(chunk), output.keep)
        if size:
            output.keep -= size
            self._send(OUTPUT, output.number, chunk[:size])
        output.tail += chunk[size:]
        if len(output.tail) > 2 * TAIL:
            cut = len(output.tail) - TAIL
            output.left_out += cut
            del output.tail[:cut]
        return True

    def _flush(self, output: _Output) -> None:
        """Pass on the end of an output that was too long."""
        if cut := max(0, len(output.tail) - TAIL):
            output.left_out += cut
            del output.tail[:cut]
        if output.left_out:
            self._send(LEFT_OUT, output.number, str(output.left_out).encode())
            output.left_out = 0
        for start in range(0, len(output.tail), CHUNK):
            self._send(OUTPUT, output.number, bytes(output.tail[start : start + CHUNK]))
        output.tail.clear()

    def _close(self, output: _Output) -> None:
        self._flush(output)
        self._selector.unregister(output.pipe)
        os.close(output.pipe)
        del self._outputs[output.number]
        self._send(CLOSED, output.number)

    def _drain(self, output: _Output) -> None:
        """Pass on what is in a command's pipe now, however fast something in the background fills it."""
        remaining = _PIPE_BYTES
        while remaining > 0 and output.number in self._outputs and self._pass_on(output, remaining):
            remaining -= CHUNK

    def _reap(self, wake_pipe: int | None = None) -> None:
        """Take note of ended processes; orphans are our children, too."""
        if wake_pipe is not None:
            with contextlib.suppress(BlockingIOError):
                os.read(wake_pipe, CHUNK)
        with contextlib.suppress(ChildProcessError):
            while True:
                process, status = os.waitpid(-1, os.WNOHANG)
                if process == 0:
                    return
                if self._command and process == self._command.shell:
                    code = os.waitstatus_to_exitcode(status)
                    self._finish(128 - code if code < 0 else code)
        if self._busy:  # nobody is left
            for output in list(self._outputs.values()):
                self._drain(output)
                if output.number in self._outputs:
                    self._close(output)
            self._busy = False
            self._send(IDLE, self._runs)

    def _finish(self, code: int) -> None:
        command, self._command = self._command, None
        if command is None:
            return
        self._drain(command.output)
        number = command.output.number
        if number in self._outputs:
            self._flush(command.output)
        processes = _processes()
        facts = {"code": code, "jobs": len(processes), "running": _process_names(processes)}
        self._send(EXITED, number, json.dumps(facts).encode())

    def _kill_session(self, number: int) -> None:
        """Kill what the running command has started, but for what has left its session."""
        if self._command is None or self._command.output.number != number:
            return
        for _ in range(_ROUNDS):
            members = [process for process in _processes() if self._command.shell in (process.session, process.pid)]
            if not members:
                break
            groups = {process.group for process in members} - {os.getpgrp()}
            # All are stopped first: a shell whose child is killed would go on to its next line.
            for sign in (signal.SIGSTOP, signal.SIGKILL):
                for group in groups:  # the kernel reaches a group at once, none of it forks on
                    _signal(os.killpg, group, sign)
                for process in members:
                    _signal(os.kill, process.pid, sign)
            time.sleep(_PAUSE)

    def _end_all(self, cleaning: list[list[str]]) -> None:
        """Kill all processes but ourselves, then run commands that clean up."""
        for _ in range(_ROUNDS):
            if not _processes():
                break
            _signal(os.kill, -1, signal.SIGKILL)  # at once, so that none forks on; not us, nor the first process
            time.sleep(_PAUSE)
            self._reap()
        self._reap()
        for command in cleaning:
            with contextlib.suppress(OSError):
                child = os.posix_spawnp(command[0], command, {}, file_actions=[(os.POSIX_SPAWN_DUP2, 1, 2)])
                os.waitpid(child, 0)
        self._send(ENDED, 0)


def _enter_work() -> None:
    """Change to the working folder, or to the one above it should it be gone."""
    with contextlib.suppress(OSError):
        Path(WORK).chmod(0o755)  # it may be closed by its owner, which we are
    try:
        os.chdir(WORK)
    except OSError:
        os.chdir("/lab")


def _processes() -> list[_Process]:
    """Return all that live but the first process and ourselves."""
    own_pids, processes = {1, os.getpid()}, []
    for name in os.listdir("/proc"):  # noqa: PTH208 - names are enough
        if not name.isdecimal() or int(name) in own_pids:
            continue
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{name}/stat").read_bytes().rpartition(b")")[2].split()
            if fields[0] not in {b"Z", b"X"}:
                processes.append(_Process(int(name), int(fields[2]), int(fields[3]), int(fields[19])))
    return processes


def _process_names(processes: list[_Process]) -> list[str]:
    """Return the command lines of some processes with their seconds, the oldest first; none that only waits for another."""
    now, ages = time.clock_gettime(time.CLOCK_BOOTTIME), dict[str, str]()
    for process in sorted(processes, key=lambda process: process.started)[:_LOOKED_AT]:
        try:
            with Path(f"/proc/{process.pid}/cmdline").open("rb") as file:
                program, *words = file.read(CHUNK).decode(errors="replace").split("\0")
        except OSError:
            continue
        name = program.rpartition("/")[2]
        line = " ".join([name, *words]).strip()[:NAME]
        # Of several that are alike, as a pool's are, one is named.
        if name not in {"", *_WAITING_PROGRAMS} and line not in ages:
            ages[line] = f"{line} ({max(0.0, now - process.started / os.sysconf('SC_CLK_TCK')):.0f} s)"
    return list(ages.values())[:NAMES]


def _signal(send: Callable[[int, int], None], target: int, sign: signal.Signals) -> None:
    with contextlib.suppress(OSError):
        send(target, sign)


def main() -> None:
    """Serve on stdin and stdout, which commands do not get."""
    orders, frames = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    LabAgent(orders, frames, sys.argv[1]).serve()


if __name__ == "__main__":
    main()
