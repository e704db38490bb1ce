"""A connection of a lab's socket, relayed in pieces between its two ends: the lab's on a node, and the engine's."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from sandbox.lab.listening import receive

SOCKET = "socket"
"""Name of the socket in the folder `socket` of a lab."""
_CHUNK = 256 * 1024
_PAUSE = 0.05
_MOST_WAITING = 256
"""Pieces that a slow reader may leave waiting before its connection is closed."""


@dataclass(frozen=True)
class Piece:
    """What one end has read."""

    connection: int
    content: bytes
    """Empty: that end is gone."""


class Relayed:
    """One end's connection, while it is passed on."""

    def __init__(self, number: int, tell: Callable[[Piece], Awaitable[None]]) -> None:
        """Take its number, and what is told of each piece that is read; it may wait, and so slows the reading down."""
        self._number, self._tell = number, tell
        self._coming: asyncio.Queue[bytes] = asyncio.Queue()
        self._over = False

    def hear(self, content: bytes) -> None:
        """Take in what the other end has read; where too much waits to be read here, the connection ends."""
        self._coming.put_nowait(content if self._coming.qsize() < _MOST_WAITING else b"")

    async def room(self) -> None:
        """Wait while much waits to be read here."""
        while self._coming.qsize() >= _MOST_WAITING // 2 and not self._over:
            await asyncio.sleep(_PAUSE)

    async def serve(self, connection: socket.socket) -> None:
        """Pass on in both directions until either end is gone; then the other is told."""
        both = [asyncio.create_task(self._read(connection)), asyncio.create_task(self._write(connection))]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in both:
                one.cancel()
            await asyncio.gather(*both, return_exceptions=True)
            self._over = True
            await self._tell(Piece(self._number, b""))

    async def _read(self, connection: socket.socket) -> None:
        while content := await receive(connection, _CHUNK):
            await self._tell(Piece(self._number, content))

    async def _write(self, connection: socket.socket) -> None:
        while content := await self._coming.get():
            await asyncio.get_running_loop().sock_sendall(connection, content)


async def connected(path: Path) -> socket.socket:
    """Return a connection to a socket; its path goes through a descriptor, as the kernel takes 107 bytes of one.

    Raises:
        OSError: nobody listens.
    """
    connection = socket.socket(socket.AF_UNIX)
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        connection.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connection, f"/proc/self/fd/{descriptor}/{path.name}")
    except OSError:
        connection.close()
        raise
    finally:
        os.close(descriptor)
    return connection
