"""A server on loopback, in threads for as long as it is entered."""

import socketserver
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

Answer = Callable[[BaseHTTPRequestHandler], None]


class Loopback:
    """A context manager around a server; what stalls on purpose waits for `closing`."""

    def __init__(self, server: socketserver.ThreadingTCPServer) -> None:
        server.daemon_threads = False
        self._server = server
        self._thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        self.closing = threading.Event()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def http_server(*, post: Answer, get: Answer | None = None) -> ThreadingHTTPServer:
    """Return a server that has these answer, and logs nothing."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            post(self)

        def do_GET(self) -> None:
            (get or post)(self)

        def log_message(self, format: str, *args: object) -> None:
            pass

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)


def body_of(request: BaseHTTPRequestHandler) -> bytes:
    """Return what was posted; less than announced where whoever asked was killed meanwhile."""
    return request.rfile.read(int(request.headers["Content-Length"]))
