"""A file server on loopback that knows ranges, and can break off, fail, or ignore them."""

import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self


@dataclass
class FileServer:
    """Serves what lies in `files`; `ranges` lists the starts that were asked for."""

    files: dict[str, bytes] = field(default_factory=dict)
    cut_after: list[int] = field(default_factory=list)
    """For each of the next answers: drop the connection after so many bytes of its body."""
    statuses: list[int] = field(default_factory=list)
    """For each of the next answers: this status instead."""
    knows_ranges: bool = True
    ranges: list[int] = field(default_factory=list)

    def __enter__(self) -> Self:
        """Start."""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer._answer(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def url(self, name: str) -> str:
        """Return a file's address."""
        return f"http://127.0.0.1:{self._server.server_port}/{name}"

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        content = self.files.get(request.path.lstrip("/"))
        if self.statuses or content is None:
            request.send_error(self.statuses.pop(0) if self.statuses else 404)
            return
        found = re.fullmatch(r"bytes=(\d+)-", request.headers.get("Range", ""))
        start = int(found[1]) if found and self.knows_ranges else 0
        self.ranges.append(start)
        if start >= len(content):
            request.send_error(416)
            return
        request.send_response(206 if start else 200)
        if start:
            request.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        body = content[start:]
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body[: self.cut_after.pop(0)] if self.cut_after else body)
        request.close_connection = True
