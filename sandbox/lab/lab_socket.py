"""A socket of a lab, on which the engine takes connections in: bounded, and open to whoever may reach its folder."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

_BACKLOG = 8


class Listener:
    """Serves a socket while its context is open; leaving cancels what still runs."""

    def __init__(self, path: Path, serve: Callable[[socket.socket], Awaitable[None]], *, limit: int) -> None:
        """Prepare; `serve` serves a connection, which is closed afterwards, at most `limit` of them at a time.

        The kernel keeps a few more waiting, and turns the rest away.
        """
        self._path = path
        self._handle = serve
        self._tasks: set[asyncio.Task[None]] = set()
        self._places = asyncio.Semaphore(limit)

    async def __aenter__(self) -> Self:
        """Open the socket. Raises OSError: the folder cannot be made or the socket cannot be opened."""
        self._listener = listen(self._path)
        self._listener.setblocking(False)
        self._accepting = asyncio.create_task(self._accept())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        tasks = {self._accepting, *self._tasks}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._listener.close()
        self._path.unlink(missing_ok=True)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._places.acquire()
            try:
                connection, _ = await loop.sock_accept(self._listener)
            except OSError:  # it is gone again, or we have no descriptor left
                self._places.release()
                await asyncio.sleep(0.1)
                continue
            task = asyncio.create_task(self._serve(connection))
            self._tasks.add(task)
            task.add_done_callback(self._served)

    async def _serve(self, connection: socket.socket) -> None:
        with connection:
            await self._handle(connection)

    def _served(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._places.release()
        if not task.cancelled() and (error := task.exception()) is not None:
            # A fault of ours: the traceback is logged, and other connections go on.
            asyncio.get_running_loop().call_exception_handler(
                {"message": "a connection from a lab failed", "exception": error, "task": task}
            )


async def receive(connection: socket.socket, limit: int) -> bytes:
    """Return what has come, nothing at its end; descriptors that came along are closed by the kernel."""
    try:
        return await asyncio.get_running_loop().sock_recv(connection, limit)
    except ConnectionError:
        return b""


def listen(path: Path) -> socket.socket:
    """Return a socket that listens, in a folder that is made if need be; raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.parent.chmod(0o755)
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    try:
        with _short(path) as name:
            listener.bind(name)
        path.chmod(0o666)
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


async def connected(path: Path) -> socket.socket:
    """Return a connection to a socket; raises OSError where nobody listens."""
    connection = socket.socket(socket.AF_UNIX)
    connection.setblocking(False)
    try:
        with _short(path) as name:
            await asyncio.get_running_loop().sock_connect(connection, name)
    except OSError:
        connection.close()
        raise
    return connection


@contextmanager
def _short(path: Path) -> Iterator[str]:
    """Give a path through a descriptor, as the kernel takes 107 bytes of a socket's."""
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{path.name}"
    finally:
        os.close(descriptor)
