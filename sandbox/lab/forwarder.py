#!/usr/bin/env python3
"""The command `gateway`, for a coding agent inside a lab: runs it with a loopback port that leads to the engine's socket.

It runs in a lab by itself, on Python 3.9 or later and its standard library. The network that the port is in is the lab's own,
and has no other end; what comes is passed on as it is, and checked by the engine.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time

PORT = 18080
SOCKET = "/lab/.engine/gateway"
MISUSED, NO_ENGINE, NOT_STARTED = 64, 69, 127
_AT_A_TIME, _BACKLOG = 12, 64
_CHUNK = 64 * 1024
_BUSY_SECONDS, _DRAIN_SECONDS = 60.0, 5.0


def main() -> int:
    """Run the command that was named; return its exit status."""
    command = sys.argv[1:]
    if not command:
        print("usage: gateway COMMAND [ARGUMENT ...]", file=sys.stderr)
        return MISUSED
    path = os.environ.get("GATEWAY_SOCKET") or SOCKET
    if not os.path.exists(path):  # noqa: PTH110 - standard library alone, and one look
        print("gateway: this lab has no gateway", file=sys.stderr)
        return NO_ENGINE
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", int(os.environ.get("GATEWAY_PORT") or PORT)))
    except OSError as error:
        print(f"gateway: cannot listen on its port: {error.strerror}", file=sys.stderr)
        return NO_ENGINE
    listener.listen(_BACKLOG)
    threading.Thread(target=serve, args=(listener, path), daemon=True).start()
    return run(command)


def run(command: list[str]) -> int:
    """Run a command to its end, passing signals on; return its exit status as a shell says it."""
    started: list[subprocess.Popen[bytes]] = []
    early: list[int] = []

    def on_signal(number: int, _: object) -> None:
        if started:
            started[0].send_signal(number)
        else:
            early.append(number)

    # Before it starts, as it may be ended at once.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, on_signal)
    try:
        started.append(subprocess.Popen(command))
    except OSError as error:
        print(f"gateway: cannot run {command[0]}: {error.strerror}", file=sys.stderr)
        return NOT_STARTED
    for told_early in early:
        started[0].send_signal(told_early)
    status = started[0].wait()
    return 128 - status if status < 0 else status


def serve(listener: socket.socket, path: str) -> None:
    """Pass each connection on, some at a time; further ones wait."""
    places = threading.BoundedSemaphore(_AT_A_TIME)

    def forward(client: socket.socket) -> None:
        try:
            pass_on(client, path)
        except OSError:
            pass  # One end has gone: so does the other.
        finally:
            client.close()
            places.release()

    while True:
        places.acquire()
        try:
            client, _ = listener.accept()
        except OSError:  # We have no descriptor left, for now.
            places.release()
            time.sleep(0.1)
            continue
        threading.Thread(target=forward, args=(client,), daemon=True).start()


def pass_on(client: socket.socket, path: str) -> None:
    """Pass a connection on until the engine ends it."""
    with connect(path) as engine:
        threading.Thread(target=copy, args=(client, engine), daemon=True).start()
        copy(engine, client)
    # Whoever is still sending must read the answer first: a port that closes over unread bytes takes the answer back.
    client.settimeout(_DRAIN_SECONDS)
    end = time.monotonic() + _DRAIN_SECONDS
    while time.monotonic() < end and client.recv(_CHUNK):
        pass


def copy(source: socket.socket, target: socket.socket) -> None:
    """Pass on what comes from one end, and its end; where the other end has gone, what comes is taken in all the same."""
    try:
        while part := source.recv(_CHUNK):
            target.sendall(part)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        return


def connect(path: str) -> socket.socket:
    """Connect to the engine; where it is busy this waits, and tries again where the kernel does not let it wait."""
    end = time.monotonic() + _BUSY_SECONDS
    while True:
        engine = socket.socket(socket.AF_UNIX)
        try:
            engine.connect(path)
            return engine
        except BlockingIOError:
            engine.close()
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
        except OSError:
            engine.close()
            raise


if __name__ == "__main__":
    sys.exit(main())
