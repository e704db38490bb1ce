"""Workers that start with their libraries loaded, as imports take seconds: forked from one server of each test process."""

import asyncio
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
from asyncio.subprocess import create_subprocess_exec
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from bot.evaluation.client.process import Remote
from bot.evaluation.client.worker import Worker
from tests.source_tree import ROOT

COMMAND = ("-P", "-m", "bot.evaluation.client.process")
LIBRARIES = ("bot.report.page", "scipy.optimize", "scipy.stats", "sklearn.ensemble", "sklearn.metrics")
"""What a worker imports beside the modules of its methods."""


class Child:
    """As much of `asyncio.subprocess.Process` as a worker's parent uses."""

    def __init__(self, pid: int, stdin: asyncio.StreamWriter, *readers: asyncio.StreamReader) -> None:
        self.pid, self.stdin = pid, stdin
        self.stdout, self.stderr, status = readers
        self.returncode: int | None = None
        self._ended = asyncio.create_task(self._watch(status))

    async def wait(self) -> int | None:
        """Return the exit status once it has ended."""
        await asyncio.shield(self._ended)
        return self.returncode

    async def _watch(self, status: asyncio.StreamReader) -> None:
        self.returncode = int(await status.read() or -signal.SIGKILL)


class Server:
    """Forks the workers of this process; it begins with the first one."""

    def __init__(self) -> None:
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._pipes: list[tuple[asyncio.AbstractEventLoop, asyncio.BaseTransport, IO[bytes]]] = []
        self._left_open: list[asyncio.BaseTransport] = []
        """Of loops that have ended; one that is deleted before it is closed warns of that."""

    async def start(self, program: str, *arguments: str, **options: Any) -> Any:
        """Start a program as `asyncio.create_subprocess_exec` does, but fork it where it is a worker."""
        if arguments[:3] != COMMAND:
            return await create_subprocess_exec(program, *arguments, **options)
        self.begin()
        self._close_pipes_of_ended_loops()
        pipes = [os.pipe() for _ in range(4)]
        (its_stdin, stdin), *others = pipes
        its_ends = (its_stdin, *(write for _, write in others))
        request = {"arguments": arguments[3:], "environment": options["env"], "folder": str(Path.cwd())}
        assert self._control is not None
        socket.send_fds(self._control, [json.dumps(request).encode()], its_ends)
        for end in its_ends:
            os.close(end)
        readers = [await self._reader(read, options["limit"]) for read, _ in others]
        return Child(int(await readers[-1].readline()), await self._writer(stdin), *readers)

    def begin(self) -> None:
        """Start the server, unless it was started before."""
        if self._control is not None:
            return
        self._control, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        environment = os.environ | one_thread | {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
        command = [sys.executable, "-P", "-m", "tests.warm_workers", str(there.fileno())]
        with there:
            nothing = subprocess.DEVNULL
            self._process = subprocess.Popen(
                command, stdin=nothing, stdout=nothing, pass_fds=(there.fileno(),), env=environment, cwd=ROOT
            )

    def end(self) -> None:
        """End the server."""
        if self._control is not None and self._process is not None:
            self._control.close()
            self._process.wait()
        self._close_pipes_of_ended_loops()

    async def _reader(self, end: int, limit: int) -> asyncio.StreamReader:
        loop, reader, pipe = asyncio.get_running_loop(), asyncio.StreamReader(limit), os.fdopen(end, "rb", 0)
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
        self._pipes.append((loop, transport, pipe))
        return reader

    async def _writer(self, end: int) -> asyncio.StreamWriter:
        loop, pipe = asyncio.get_running_loop(), os.fdopen(end, "wb", 0)
        transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, pipe)
        self._pipes.append((loop, transport, pipe))
        return asyncio.StreamWriter(transport, protocol, None, loop)

    def _close_pipes_of_ended_loops(self) -> None:
        self._pipes = [(loop, transport, pipe) for loop, transport, pipe in self._pipes if not pipe.closed]
        for loop, transport, pipe in self._pipes:
            if loop.is_closed():
                self._left_open.append(transport)
                pipe.close()


@contextmanager
def warm_workers(*, at_once: bool = False) -> Iterator[None]:
    """Have the workers of this process forked while this lasts; its own forks share a server that is started `at_once`."""
    server = Server()
    if at_once:
        server.begin()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio, "create_subprocess_exec", server.start)
        yield
    server.end()


def serve(control: socket.socket) -> None:
    """Fork a worker for each request, until the connection is closed."""
    methods = [method for method in vars(Worker).values() if isinstance(method, Remote)]
    for name in (*LIBRARIES, *sorted({method.module for method in methods})):
        importlib.import_module(name)
    del sys.modules["bot.evaluation.client.process"]  # a worker runs it
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        request, ends, _, _ = socket.recv_fds(control, 1 << 16, 4)
        if not request:
            return
        if os.fork() == 0:
            control.close()
            _watch(json.loads(request), *ends)
            os._exit(0)
        for end in ends:
            os.close(end)


def _watch(request: dict[str, Any], stdin: int, stdout: int, stderr: int, status: int) -> None:
    """Fork a worker; write its number, and its exit status once it has ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if (pid := os.fork()) == 0:
        os.setsid()
        for number, end in enumerate((stdin, stdout, stderr)):
            os.dup2(end, number)
        for end in (stdin, stdout, stderr, status):
            os.close(end)
        os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update(request["environment"])
        tempfile.tempdir, sys.argv[1:] = None, request["arguments"]
        runpy.run_module(COMMAND[-1], run_name="__main__", alter_sys=True)
    for end in (stdin, stdout, stderr):
        os.close(end)
    os.write(status, f"{pid}\n".encode())
    os.write(status, f"{os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}\n".encode())


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
