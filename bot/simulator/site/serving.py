"""Runs a site on a port of this machine, in a thread of its own."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from bot.simulator.site.app import App
from bot.simulator.site.site import Site
from state.errors import UsageError

_HOST = "127.0.0.1"
_LAST_ANSWERS = 1.0
"""Seconds that requests in progress get when the site ends."""
_LONGEST_END = 5.0


class _Protocol(H11Protocol):
    """Gives the application its connection, so that it can cut it."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {**self.app_state, "transport": transport}


class _Server(uvicorn.Server):
    """Ends at once on request, while uvicorn checks ten times a second, and then waits for a tenth of one."""

    _wake: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    async def main_loop(self) -> None:
        end_event = asyncio.Event()
        self._wake = asyncio.get_running_loop(), end_event
        if not self.should_exit:
            await end_event.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        tasks = set(self.server_state.tasks)
        if tasks:
            _, unfinished = await asyncio.wait(tasks, timeout=_LAST_ANSWERS)
            for task in unfinished:
                task.cancel()
        await asyncio.sleep(0)  # so that connections are closed by the time that the loop is

    def end(self) -> None:
        """End; called from another thread."""
        self.should_exit = True
        if self._wake is not None:
            loop, end_event = self._wake
            loop.call_soon_threadsafe(end_event.set)


@contextmanager
def serving(site: Site, port: int = 0) -> Iterator[str]:
    """Serve a site on loopback while the context lasts, and close it afterwards; port 0 is a free one.

    Yields:
        The base address, such as `http://127.0.0.1:8899`.

    Raises:
        UsageError: the port is in use, or may not be used.
    """
    try:
        listening = _listen(port)
    except UsageError:
        site.close()
        raise
    config = uvicorn.Config(
        App(site),
        http=_Protocol,
        ws="none",
        loop="asyncio",
        lifespan="off",
        date_header=False,
        server_header=False,
        access_log=False,
        log_config=None,
    )
    server = _Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])), name="rehearsal", daemon=True)
    thread.start()
    try:
        # The socket listens already: a request that comes before the server does waits in its queue.
        yield f"http://{_HOST}:{listening.getsockname()[1]}"
    finally:
        server.end()
        thread.join(_LONGEST_END)
        listening.close()
        site.close()


def _listen(port: int) -> socket.socket:
    # By its protocol asyncio knows a TCP socket, and sends what is small at once; answers took 40 ms without.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((_HOST, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise UsageError(
            f"cannot listen on port {port}: {error.strerror or error}; choose another port with --port"
        ) from error
    return listening
