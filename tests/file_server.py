"""A file server on loopback that knows ranges and versions, and can break off, stall, lie, fail, or ignore what it is asked."""

import contextlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.loopback import Loopback, body_of, http_server


@dataclass
class FileServer(Loopback):
    """Serves what lies in `files`; `ranges` lists the starts that were asked for."""

    files: dict[str, bytes] = field(default_factory=dict)
    cut_after: list[int] = field(default_factory=list)
    """For each of the next answers: drop the connection after so many bytes of its body."""
    stall_after: list[int] = field(default_factory=list)
    """For each of the next answers: send nothing more after so many bytes of its body."""
    statuses: list[int] = field(default_factory=list)
    """For each of the next answers: this status instead; 0 is as usual."""
    knows_ranges: bool = True
    heeds_if_range: bool = True
    etags: dict[str, str] = field(default_factory=dict)
    modified: str = ""
    """The header `Last-Modified`."""
    says_length: bool = True
    encoding: str = ""
    pause: float = 0.0
    """Seconds of rest after each piece of a body."""
    piece: int = 1 << 16
    """Bytes between two rests."""
    shift: int = 0
    """Bytes by which it says that a range begins later than it was asked."""
    post: Callable[[str, Any], tuple[int, dict[str, str], Any]] | None = None
    """What answers posts of JSON: given path and content, it returns status, headers and content."""
    ranges: list[int] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    """The headers `If-Range` that came, empty where there was none."""

    def __post_init__(self) -> None:
        super().__init__(http_server(post=self._answer_post, get=self._answer))

    def url(self, name: str) -> str:
        """Return a file's address."""
        return f"http://127.0.0.1:{self.port}/{name}"

    def _answer_post(self, request: BaseHTTPRequestHandler) -> None:
        content = json.loads(body_of(request))
        assert self.post is not None
        status, headers, answer = self.post(request.path, content)
        data = json.dumps(answer).encode()
        request.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(data))}.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(data)

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        name = request.path.lstrip("/").split("?")[0]
        content = self.files.get(name)
        status = self.statuses.pop(0) if self.statuses else 0
        if status or content is None:
            request.send_error(status or 404)
            return
        condition, etag = request.headers.get("If-Range", ""), self.etags.get(name, "")
        found = re.fullmatch(r"bytes=(\d+)-", request.headers.get("Range", ""))
        same = not self.heeds_if_range or condition in ("", etag, self.modified)
        start = int(found[1]) if found and self.knows_ranges and same else 0
        self.ranges.append(start)
        self.conditions.append(condition)
        if start >= len(content):
            request.send_error(416)
            return
        self._headers(request, start, len(content), etag)
        with contextlib.suppress(ConnectionError):  # whoever asked may have been killed
            self._body(request, content[start:])
        request.close_connection = True

    def _headers(self, request: BaseHTTPRequestHandler, start: int, total: int, etag: str) -> None:
        request.send_response(206 if start else 200)
        if start:
            request.send_header("Content-Range", f"bytes {start + self.shift}-{total - 1}/{total}")
        told = {"ETag": etag, "Last-Modified": self.modified, "Content-Encoding": self.encoding}
        for name, value in told.items():
            if value:
                request.send_header(name, value)
        if self.says_length:
            request.send_header("Content-Length", str(total - start))
        request.end_headers()

    def _body(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        if self.cut_after:
            body = body[: self.cut_after.pop(0)]
        if self.stall_after:
            request.wfile.write(body[: self.stall_after.pop(0)])
            self.closing.wait(30)
            return
        for place in range(0, len(body), self.piece) if self.pause else ():
            request.wfile.write(body[place : place + self.piece])
            self.closing.wait(self.pause)
        if not self.pause:
            request.wfile.write(body)
