"""The Docker engine of this machine: a connection to it, and its failures as sentences."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from docker import DockerClient
from docker.errors import APIError, DockerException

ENGINE_FAILURES = (DockerException, OSError)
"""What a call to the engine raises: its own errors, and those of the connection."""

_UNIX = "unix://"
_SOCKET = "unix:///var/run/docker.sock"
_TIMEOUT = 60
"""Seconds that one call may take."""


class EngineError(OSError):
    """The engine failed; the text is a sentence for people."""


def engine_address() -> str:
    """Return where the engine listens: DOCKER_HOST, or Docker's own default."""
    return os.environ.get("DOCKER_HOST") or _SOCKET


@contextmanager
def connect() -> Iterator[DockerClient]:
    """Open a connection to the engine, closed at the end.

    Raises EngineError: none answers, or it is that of another machine, which could not see our folders.
    """
    address = engine_address()
    if not address.startswith(_UNIX):
        raise EngineError(f"DOCKER_HOST is {address}, but only a local engine (unix://…) can use local folders.")
    try:
        with socket.socket(socket.AF_UNIX) as probe:  # the library would leave one open where nobody listens
            probe.connect(address.removeprefix(_UNIX))
        client = DockerClient(base_url=address, version="auto", timeout=_TIMEOUT)
    except ENGINE_FAILURES as error:
        raise EngineError(f"Cannot connect to a Docker engine at {address}: {_advice(error)}.") from error
    try:
        yield client
    finally:
        client.close()


def attach(engine: DockerClient, container: str) -> socket.socket:
    """Return a connection from which the framed output of a container is read, from the moment of this call on.

    What is sent over it is the container's stdin, which ends with the connection.

    Over a socket of our own: the library's cannot be closed for sure.

    Raises:
        OSError: The engine does not give it.
    """
    path = f"/v{engine.api.api_version}/containers/{container}/attach?stream=1&stdin=1&stdout=1&stderr=1"
    request = (
        f"POST {path} HTTP/1.1\r\nHost: docker\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: 0\r\n\r\n"
    )
    stream = socket.socket(socket.AF_UNIX)
    try:
        stream.settimeout(_TIMEOUT)
        stream.connect(engine_address().removeprefix(_UNIX))
        stream.sendall(request.encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            if not (byte := stream.recv(1)):
                break
            head += byte
        if head.split(b" ")[1:2] != [b"101"]:
            raise EngineError(f"cannot read the engine's output: {head[:200]!r}")
        stream.settimeout(None)
    except OSError:
        stream.close()
        raise
    return stream


def say(error: Exception) -> str:
    """Return the engine's own words, in one line."""
    words = error.explanation if isinstance(error, APIError) and error.explanation else error
    return " ".join(str(words).split())


def _advice(error: Exception) -> str:
    if isinstance(error, PermissionError):
        return "this user may not use it: join the group docker (its members have root access)"
    return "install it (Debian package docker.io) and start it (systemctl start docker)"
