"""The endpoint: answers each request with the next step of a script, in the request's dialect, and counts tokens."""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from bot.coder.scripted.dialects import PATHS, Asked, Counted, Json, Said, asked, stream, whole

_BYTES_A_TOKEN = 4
_CACHED_SHARE = 2
"""Of what was sent, one in so many tokens counts as cached from the second turn on."""
_LAST = "I am done."


@dataclass
class Endpoint:
    """What is answered, and what was counted.

    Which command is answered goes by the answers that the conversation holds, not by those that were given: a request that
    is sent again, or beside the conversation, is answered as it would have been.
    """

    commands: Sequence[str]
    """What the agent is told to run, one a turn, where it offers a tool for that."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """What it is told where it offers none and asks for edits: what follows the last whose key, a part of the file, it shows."""
    address: str = ""
    """Such as `http://127.0.0.1:8000/v1`, once it serves."""
    answered: list[tuple[str, Asked, Counted]] = field(default_factory=list)
    """Each answer so far: its dialect, what was asked, and its tokens."""

    def answer(self, dialect: str, body: Json, size: int) -> tuple[Asked, Said, Counted]:
        """Return the answer to a request of so many bytes; raises as `asked`."""
        to = asked(dialect, body)
        if to.tool is None:
            # Such agents begin their conversations with examples, and each anew: the file shows how far they are.
            shown = max((place for place, key in enumerate(self.texts, 1) if key in to.edits), default=0)
            left = list(self.texts.values())[shown:] if to.edits else []
            said = Said(left[0] if left else _LAST)
        else:
            step = self.commands[to.turns] if to.turns < len(self.commands) else None
            said = Said(_LAST if step is None else "Next.", step)
        sent = -(-size // _BYTES_A_TOKEN)
        cached = sent // _CACHED_SHARE if to.turns else 0
        used = Counted(sent, cached, -(-len(said.command or said.text) // _BYTES_A_TOKEN))
        self.answered.append((dialect, to, used))
        return to, said, used

    @property
    def counted(self) -> Counted:
        """The tokens of all answers."""
        used = [one for _, _, one in self.answered]
        return Counted(*(sum(getattr(one, name) for one in used) for name in ("prompt", "cached", "completion")))


@contextmanager
def serving(endpoint: Endpoint) -> Iterator[Endpoint]:
    """Serve an endpoint on a free port of loopback while the context lasts."""

    class Handler(_Handler):
        script = endpoint

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="scripted endpoint", daemon=True)
    thread.start()
    endpoint.address = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield endpoint
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    script: Endpoint

    def do_POST(self) -> None:
        """Answer a request."""
        text = self.rfile.read(int(self.headers.get("content-length") or 0))
        dialect = PATHS.get(self.path.partition("?")[0])
        if dialect is None:
            self._send(404, {"error": {"type": "not_found_error", "message": "there is no such path"}})
            return
        try:
            to, said, used = self.script.answer(dialect, json.loads(text), len(text))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            message = f"the request cannot be read: {error!r}"
            self._send(400, {"error": {"type": "invalid_request_error", "message": message}})
            return
        if not to.stream:
            self._send(200, whole(dialect, to, said, used))
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for name, content in stream(dialect, to, said, used):
            lines = [] if name is None else [f"event: {name}"]
            lines.append(f"data: {content if isinstance(content, str) else json.dumps(content)}")
            self.wfile.write(("\n".join(lines) + "\n\n").encode())
            self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""

    def _send(self, status: int, content: Json) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
