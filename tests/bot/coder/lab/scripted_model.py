"""A model whose answers are scripted, behind chat completions on loopback: a coding agent's in tests."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from bot.models import Usage

Json = dict[str, Any]

_LAST = "I am done."
_BYTES_PER_TOKEN = 4


@dataclass(frozen=True)
class ScriptedAnswer:
    model: str
    turn: int
    """Answers that the conversation held before."""
    text: str
    call: tuple[str, Json] | None
    """Name and arguments of a tool call."""
    usage: Usage


@dataclass
class ScriptedModel:
    """The script, and the exchanges so far. An answer depends on its request alone, so a retry gets the same one."""

    commands: Sequence[str]
    """One a turn."""
    address: str = ""
    """Such as `http://127.0.0.1:8000/v1`, once it serves."""
    requests: list[str] = field(default_factory=list)
    answers: list[ScriptedAnswer] = field(default_factory=list)

    @property
    def usage(self) -> Usage:
        """The tokens of all answers."""
        return sum((answer.usage for answer in self.answers), Usage())

    def answer(self, body: bytes) -> tuple[str, bytes]:
        """Return content type and body of the answer to a request."""
        request = json.loads(body)
        turn = sum(message["role"] == "assistant" for message in request["messages"])
        text, call = self._next(request, turn)
        sent = len(body) // _BYTES_PER_TOKEN
        usage = Usage(sent, len(f"{text}{call}") // _BYTES_PER_TOKEN, sent // 2 if turn else 0)
        answer = ScriptedAnswer(request["model"], turn, text, call, usage)
        self.requests.append(body.decode())
        self.answers.append(answer)
        whole, events = _chat(answer)
        if not request.get("stream"):
            return "application/json", json.dumps(whole).encode()
        return "text/event-stream", "".join(
            f"data: {event}\n\n" for event in (*map(json.dumps, events), "[DONE]")
        ).encode()

    def _next(self, request: Json, turn: int) -> tuple[str, tuple[str, Json] | None]:
        # The bot's own requests offer no tool: they ask for other things.
        if not request.get("tools") or turn >= len(self.commands):
            return _LAST, None
        return "Next.", (request["tools"][0]["function"]["name"], {"command": self.commands[turn]})


@contextmanager
def serving(model: ScriptedModel) -> Iterator[ScriptedModel]:
    """Serve a model on a free port of loopback while the context lasts."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            kind, content = model.answer(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        model.address = f"http://127.0.0.1:{server.server_address[1]}/v1"
        try:
            yield model
        finally:
            server.shutdown()


def _chat(answer: ScriptedAnswer) -> tuple[Json, list[Json]]:
    """Return an answer of chat completions, whole and as the events of a stream."""
    message: Json = {"role": "assistant", "content": answer.text}
    if answer.call:
        function = {"name": answer.call[0], "arguments": json.dumps(answer.call[1])}
        message["tool_calls"] = [{"index": 0, "id": f"call_{answer.turn}", "type": "function", "function": function}]
    usage = {
        "prompt_tokens": answer.usage.prompt_tokens,
        "completion_tokens": answer.usage.completion_tokens,
        "total_tokens": answer.usage.prompt_tokens + answer.usage.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": answer.usage.cached_tokens},
    }
    head = {"id": f"chat_{answer.turn}", "object": "chat.completion", "created": 0, "model": answer.model}
    end = {"index": 0, "finish_reason": "tool_calls" if answer.call else "stop"}
    contents: list[Json] = [
        {"choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        {"choices": [{**end, "delta": {}}]},
        {"choices": [], "usage": usage},
    ]
    chunks = [{**head, "object": "chat.completion.chunk", **content} for content in contents]
    return {**head, "choices": [{**end, "message": message}], "usage": usage}, chunks
