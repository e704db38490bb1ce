"""An OpenAI-compatible endpoint on loopback that answers from a script, as a stream where asked, and keeps what it was asked."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.loopback import Loopback, body_of, http_server


@dataclass(frozen=True)
class Reply:
    """One answer of the script; by default a good one with `text`."""

    text: str | None = ""
    status: int = 200
    calls: Sequence[object] = ()
    """Arguments of native tool calls of `bash`, as they are; a call may be given whole."""
    finish: str = "stop"
    prompt_tokens: int = 100
    completion_tokens: int = 20
    cached_tokens: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    """Seconds before anything is sent; ended early when the server closes."""
    cut_after: int | None = None
    """Drop the connection after so many bytes of the body."""
    body: object | None = None
    """Sent instead of a chat completion: a JSON value, or text or bytes as they are."""
    drip: float = 0.0
    """Seconds between one byte of the body and the next."""
    endless: bool = False
    """Send the body again and again, until the client hangs up."""
    plain: bool = False
    """Answer whole, though a stream is asked for."""
    thoughts: str = ""
    """What the model thinks before it answers; shown in a stream alone."""
    events: Sequence[object] | None = None
    """Sent instead of the stream's own events: JSON values, or texts as they are."""
    pause: float = 0.0
    """Seconds between one event of a stream and the next."""
    silent_after: int | None = None
    """Events of a stream after which nothing more is sent, though the connection stays open."""

    def streams(self, request: "Request") -> bool:
        """Return whether it is sent as a stream."""
        good = self.body is None and self.status == 200 and not self.plain
        return bool(self.events is not None or (good and request.body.get("stream")))

    def stream(self, request: "Request") -> list[bytes]:
        """Return the events of a stream."""
        sent = self._events(request) if self.events is None else self.events
        return [
            one.encode() if isinstance(one, str) else b"data: " + json.dumps(one).encode() + b"\n\n" for one in sent
        ]

    def _events(self, request: "Request") -> Iterator[object]:
        yield ": on its way\n\n"
        yield chunk({"role": "assistant", "content": None if self.text is None else ""})
        for piece in _pieces(self.thoughts):
            yield chunk({"reasoning_content": piece})
        for piece in _pieces(self.text or ""):
            yield chunk({"content": piece})
        for number, given in enumerate(self.calls):
            yield from _call_in_pieces(number, _call(number, given))
        yield chunk({}, self.finish)
        if (request.body.get("stream_options") or {}).get("include_usage"):
            yield {"id": "c", "object": "chat.completion.chunk", "choices": [], "usage": self._usage()}
        yield "data: [DONE]\n\n"

    def _usage(self) -> dict[str, Any]:
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "total_tokens": self.prompt_tokens + self.completion_tokens,
            "prompt_tokens_details": {"cached_tokens": self.cached_tokens},
        }

    def rendered(self, model: str) -> bytes:
        """Return the body."""
        if isinstance(self.body, bytes):
            return self.body
        if isinstance(self.body, str):
            return self.body.encode()
        if self.body is not None:
            return json.dumps(self.body).encode()
        message: dict[str, Any] = {"role": "assistant", "content": self.text}
        if self.calls:
            message["tool_calls"] = [_call(number, given) for number, given in enumerate(self.calls)]
        choice = {"index": 0, "message": message, "finish_reason": self.finish}
        return json.dumps(
            {
                "id": "c",
                "object": "chat.completion",
                "created": 0,
                "model": model,
                "choices": [choice],
                "usage": self._usage(),
            }
        ).encode()


def chunk(delta: object, finish: str | None = None) -> dict[str, Any]:
    """Return one event of a stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "m",
        "choices": [choice],
        "usage": None,
    }


def _pieces(text: str) -> list[str]:
    """Return a text in three or four parts."""
    size = max(1, len(text) // 3)
    return [text[at : at + size] for at in range(0, len(text), size)]


def _call_in_pieces(number: int, call: Any) -> Iterator[object]:
    """Yield a tool call as a stream has it; what is no call is sent as it is."""
    if not isinstance(call, dict) or not isinstance(call.get("function"), dict):
        yield chunk({"tool_calls": [call]})
        return
    function = call["function"]
    given = function.get("arguments")
    first = given if not isinstance(given, str) else ""
    yield chunk({"tool_calls": [{**call, "index": number, "function": {**function, "arguments": first}}]})
    for piece in _pieces(given) if isinstance(given, str) else ():
        yield chunk({"tool_calls": [{"index": number, "function": {"arguments": piece}}]})


def _call(number: int, given: object) -> object:
    if isinstance(given, dict) and "function" in given:
        return given
    return {"id": f"made_{number}", "type": "function", "function": {"name": "bash", "arguments": given}}


@dataclass(frozen=True)
class Request:
    """One request as it came; header names are in lower case."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def last(self) -> str:
        """The content of the last message."""
        return str(self.body["messages"][-1]["content"])


def failure(status: int, message: str, code: str | None = None, **headers: str) -> Reply:
    """Return an error as OpenAI words it; header names are given with underscores."""
    body = {"error": {"message": message, "type": code or "error", "code": code}}
    return Reply(status=status, body=body, headers={k.replace("_", "-"): v for k, v in headers.items()})


class ScriptedEndpoint(Loopback):
    """A context manager; the script is a list of replies, the last of which is repeated, or a function of the request."""

    def __init__(self, script: Sequence[Reply | str] | Callable[[Request], Reply | str]) -> None:
        super().__init__(http_server(post=self._post))
        self._script = script
        self._lock = threading.Lock()
        self.requests: list[Request] = []
        self.let_go = 0
        """Answers whose client hung up while they were sent."""

    @property
    def url(self) -> str:
        """The base URL, as OPENAI_BASE_URL takes it."""
        return f"http://127.0.0.1:{self.port}/v1"

    def _next(self, request: Request) -> Reply:
        with self._lock:
            position = len(self.requests)
            self.requests.append(request)
        reply = self._script(request) if callable(self._script) else self._script[min(position, len(self._script) - 1)]
        return Reply(reply) if isinstance(reply, str) else reply

    def _post(self, handler: BaseHTTPRequestHandler) -> None:
        content = body_of(handler)
        if len(content) < int(handler.headers["Content-Length"]):
            return  # whoever asked was killed meanwhile
        request = Request(handler.path, {k.lower(): v for k, v in handler.headers.items()}, json.loads(content))
        self._answer(handler, self._next(request), request)

    def _answer(self, handler: BaseHTTPRequestHandler, reply: Reply, request: Request) -> None:
        if reply.delay:
            self.closing.wait(reply.delay)
        streams = reply.streams(request)
        events = reply.stream(request) if streams else []
        body = b"".join(events) if streams else reply.rendered(str(request.body.get("model")))
        length = str(1 << 50) if reply.endless or reply.silent_after is not None else str(len(body))
        try:
            handler.send_response(reply.status)
            kind = (
                "text/event-stream" if streams else "text/html" if isinstance(reply.body, str) else "application/json"
            )
            for name, value in {"Content-Type": kind, "Content-Length": length, **reply.headers}.items():
                handler.send_header(name, value)
            handler.end_headers()
            slow = reply.pause or reply.silent_after is not None
            whole = body if reply.cut_after is None else body[: reply.cut_after]
            for part in self._slowly(reply, events) if slow else self._parts(reply, whole):
                handler.wfile.write(part)
        except (BrokenPipeError, ConnectionResetError):
            self.let_go += 1  # the client gave up waiting, which is what a delay is for

    def _slowly(self, reply: Reply, events: Sequence[bytes]) -> Iterator[bytes]:
        """Yield the events of a stream with pauses, until the server closes."""
        for event in events[: reply.silent_after]:
            if self.closing.is_set():
                return
            yield event
            self.closing.wait(reply.pause)
        if reply.silent_after is not None:
            self.closing.wait()

    def _parts(self, reply: Reply, body: bytes) -> Iterator[bytes]:
        """Yield the body as it is to be sent, until the server closes."""
        if reply.endless:
            while not self.closing.is_set():
                yield body
        elif reply.drip:
            for position in range(len(body)):
                yield body[position : position + 1]
                if self.closing.wait(reply.drip):
                    return
        else:
            yield body
