"""A site on loopback that takes submissions and notices by a script, keeps every one by its tag, and can behave badly."""

import hashlib
import json
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

from tests.loopback import Loopback, body_of, http_server

Behaviour = Literal[
    "accept",
    "accept, cut",
    "accept, stall",
    "accept, 500",
    "hold, accept",
    "cut",
    "stall",
    "500",
    "refuse",
    "over quota",
]
"""What is done with an act, and, after a comma, with its answer; `hold` waits for the test's word before it accepts."""

AMBIGUOUS: tuple[Behaviour, ...] = ("accept, cut", "accept, stall", "accept, 500", "cut", "stall", "500")
REFUSAL = "Submission must have 60 rows, and has 59."
LONGEST = 30.0
"""Seconds after which a stalled answer is given up, so that a failing test ends."""


@dataclass(frozen=True)
class Act:
    """One act that the site accepted."""

    tag: str
    sha256: str
    at: datetime


class ScriptedSite(Loopback):
    """A context manager; the script says what comes of each act, in turn; all is well after its end."""

    def __init__(
        self,
        script: Sequence[Behaviour] = (),
        *,
        late: float = 0.0,
        quota: int = 1000,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Make a site that lists what it accepted so many seconds of `now` later."""
        super().__init__(http_server(post=self._post, get=self._get))
        self._script = list(script)
        self._late = timedelta(seconds=late)
        self._quota = quota
        self._now = now
        self._lock = threading.Lock()
        self.acts: list[Act] = []
        self.asked: list[str] = []
        """Every request that came, such as `find r-1`."""
        self.scores: dict[str, float | str] = {}
        """By tag: a score, or why there is none."""
        self.deaf = False
        """Whether it answers no question; acts go by the script."""
        self.reached = threading.Event()
        """Set when an act has come so far that its answer is held, stalled or cut."""
        self.release = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def tags(self) -> list[str]:
        """Return the tags of all accepted acts, one as often as it was accepted."""
        return [act.tag for act in self.acts]

    def __exit__(self, *error: Any) -> None:
        self.release.set()
        super().__exit__(*error)

    def _post(self, handler: BaseHTTPRequestHandler) -> None:
        self._act(handler, _tag(handler), body_of(handler))

    def _get(self, handler: BaseHTTPRequestHandler) -> None:
        self._question(handler, urlsplit(handler.path).path.strip("/"), _tag(handler))

    def _act(self, handler: BaseHTTPRequestHandler, tag: str, content: bytes) -> None:
        with self._lock:
            self.asked.append(f"act {tag}")
            behaviour = self._script.pop(0) if self._script else "accept"
            if len(self.acts) >= self._quota:
                behaviour = "over quota"
        first, _, answer = behaviour.partition(", ")
        if first == "hold":
            self.reached.set()
            self.release.wait(LONGEST)
        if "accept" in (first, answer):
            with self._lock:
                self.acts.append(Act(tag, hashlib.sha256(content).hexdigest(), self._now()))
        self._answer(handler, behaviour if answer in ("", "accept") else answer, tag)

    def _answer(self, handler: BaseHTTPRequestHandler, behaviour: str, tag: str) -> None:
        if behaviour in ("cut", "stall"):
            self.reached.set()
        if behaviour == "cut":
            handler.connection.shutdown(socket.SHUT_RDWR)
        elif behaviour == "stall":
            self.closing.wait(LONGEST)
        elif behaviour == "500":
            _send(handler, 500, {"message": "Internal error"})
        elif behaviour == "refuse":
            _send(handler, 400, {"message": REFUSAL})
        elif behaviour == "over quota":
            _send(handler, 429, {"message": "Daily limit reached"})
        else:
            _send(handler, 200, {"ref": f"site/{tag}"})

    def _question(self, handler: BaseHTTPRequestHandler, what: str, tag: str) -> None:
        with self._lock:
            self.asked.append(f"{what} {tag}".strip())
            listed = [act for act in self.acts if act.at + self._late <= self._now()]
            left = self._quota - len(self.acts)
        if self.deaf:
            _send(handler, 503, {"message": "Down for maintenance"})
        elif what == "quota":
            _send(handler, 200, {"remaining": left})
        elif what == "score":
            _send(handler, 200, {"score": self.scores.get(tag.removeprefix("site/"))})
        else:
            _send(handler, 200, {"ref": f"site/{tag}" if any(act.tag == tag for act in listed) else None})


def _tag(handler: BaseHTTPRequestHandler) -> str:
    return parse_qs(urlsplit(handler.path).query).get("tag", [""])[0]


def _send(handler: BaseHTTPRequestHandler, status: int, body: dict[str, Any]) -> None:
    content = json.dumps(body).encode()
    try:
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)
    except (BrokenPipeError, ConnectionResetError):
        pass  # the client was killed or gave up, which is what most of this is for
