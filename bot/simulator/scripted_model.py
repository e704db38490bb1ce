"""A model whose answers are scripted, behind an endpoint on loopback: it stands in while a coding agent is tried out."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from bot.models import Usage

Json = dict[str, Any]

_SHELLS = ("bash", "sh", "shell", "exec_command", "shell_command")
"""Names of the tool that runs a command, in lower case."""
_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
_EDITS = "<<<<<<< SEARCH"
"""In requests of agents that edit files by blocks of search and replace."""
_LAST = "I am done."
_BYTES_PER_TOKEN = 4


@dataclass(frozen=True)
class ScriptedAnswer:
    """An answer, whatever the dialect."""

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
    """Commands for an agent that offers a tool for them, one a turn."""
    edits: Mapping[str, str] = field(default_factory=dict)
    """Answers to an agent that asks for edits; each key is a text that the file holds once the edit is made."""
    address: str = ""
    """Such as `http://127.0.0.1:8000/v1`, once it serves."""
    requests: list[str] = field(default_factory=list)
    answers: list[ScriptedAnswer] = field(default_factory=list)

    @property
    def usage(self) -> Usage:
        """The tokens of all answers."""
        return sum((answer.usage for answer in self.answers), Usage())

    def answer(self, path: str, body: bytes) -> tuple[str, bytes]:
        """Return content type and body of the answer to a request; raises KeyError for the path of no dialect."""
        write, request = _WRITERS[path.partition("?")[0]], json.loads(body)
        items = request["messages"] if "messages" in request else request["input"]
        inputs = [item for item in items if isinstance(item, dict)]
        turn = sum(item.get("role") == "assistant" or item.get("type") in _CALLS for item in inputs)
        text, call = self._next(request, turn)
        tokens_sent = len(body) // _BYTES_PER_TOKEN
        usage = Usage(tokens_sent, len(f"{text}{call}") // _BYTES_PER_TOKEN, tokens_sent // 2 if turn else 0)
        answer = ScriptedAnswer(request["model"], turn, text, call, usage)
        self.requests.append(body.decode())
        self.answers.append(answer)
        body_of_answer, events = write(answer)
        if not request.get("stream"):
            return "application/json", json.dumps(body_of_answer).encode()
        sent_events = [*map(_as_sent, events), *(["data: [DONE]\n\n"] if write is _chat else [])]
        return "text/event-stream", "".join(sent_events).encode()

    def _next(self, request: Json, turn: int) -> tuple[str, tuple[str, Json] | None]:
        for tool in request.get("tools") or ():
            function = tool.get("function", tool)
            if str(function.get("name")).lower() in _SHELLS:
                if turn >= len(self.commands):
                    return _LAST, None
                schema = function.get("parameters") or function.get("input_schema") or {}
                return "Next.", (function["name"], _arguments(schema, self.commands[turn]))
        request_text = json.dumps(request, ensure_ascii=False)
        if _EDITS not in request_text:  # the bot's own requests ask for other things
            return _LAST, None
        # Such agents start their conversations with examples, and each anew: the file shows how far they are.
        edits_made = max((number for number, text in enumerate(self.edits, 1) if text in request_text), default=0)
        return [*self.edits.values(), _LAST][edits_made], None


def _arguments(schema: Mapping[str, Any], command: str) -> Json:
    """Return a tool's arguments for a command; what else its schema requires is filled in."""
    properties = schema.get("properties", {})
    name = "cmd" if "cmd" in properties else "command"
    is_list = properties.get(name, {}).get("type") == "array"
    required = {key: "scripted" for key in schema.get("required", ()) if key != name}
    return {**required, name: ["bash", "-c", command] if is_list else command}


def _as_sent(event: Json) -> str:
    """Return an event as a stream has it; those of chat completions have no name."""
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event)}\n\n"


@contextmanager
def serving(model: ScriptedModel) -> Iterator[ScriptedModel]:
    """Serve a model on a free port of loopback while the context lasts."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            kind, content = model.answer(self.path, self.rfile.read(int(self.headers["Content-Length"])))
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


def _responses(answer: ScriptedAnswer) -> tuple[Json, list[Json]]:
    content = [{"type": "output_text", "text": answer.text, "annotations": []}]
    item: Json = {"type": "message", "id": f"msg_{answer.turn}", "role": "assistant", "content": content}
    if answer.call:
        call = {"name": answer.call[0], "arguments": json.dumps(answer.call[1])}
        item = {"type": "function_call", "id": f"fc_{answer.turn}", "call_id": f"call_{answer.turn}", **call}
    item["status"] = "completed"
    usage = {
        "input_tokens": answer.usage.prompt_tokens,
        "input_tokens_details": {"cached_tokens": answer.usage.cached_tokens},
        "output_tokens": answer.usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": answer.usage.prompt_tokens + answer.usage.completion_tokens,
    }
    head = {"id": f"resp_{answer.turn}", "object": "response", "created_at": 0, "model": answer.model}
    response = {**head, "status": "completed", "output": [item], "usage": usage}
    events: list[Json] = [
        {"type": "response.created", "response": {**head, "status": "in_progress", "output": [], "usage": None}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response},
    ]
    return response, [{**event, "sequence_number": number} for number, event in enumerate(events)]


def _messages(answer: ScriptedAnswer) -> tuple[Json, list[Json]]:
    block: Json = {"type": "text", "text": answer.text}
    block_start, delta = {**block, "text": ""}, {"type": "text_delta", "text": answer.text}
    if answer.call:
        block = {"type": "tool_use", "id": f"toolu_{answer.turn}", "name": answer.call[0], "input": answer.call[1]}
        block_start, delta = (
            {**block, "input": {}},
            {"type": "input_json_delta", "partial_json": json.dumps(answer.call[1])},
        )
    usage = {
        # Here cached tokens are counted beside those that were sent, not among them.
        "input_tokens": answer.usage.prompt_tokens - answer.usage.cached_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": answer.usage.cached_tokens,
        "output_tokens": answer.usage.completion_tokens,
    }
    end = {"stop_reason": "tool_use" if answer.call else "end_turn", "stop_sequence": None}
    head = {"id": f"msg_{answer.turn}", "type": "message", "role": "assistant", "model": answer.model}
    started_usage = {**usage, "output_tokens": 1}
    opening: Json = {**head, "content": [], "stop_reason": None, "stop_sequence": None, "usage": started_usage}
    events: list[Json] = [
        {"type": "message_start", "message": opening},
        {"type": "content_block_start", "index": 0, "content_block": block_start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": answer.usage.completion_tokens}},
        {"type": "message_stop"},
    ]
    return {**head, "content": [block], **end, "usage": usage}, events


_WRITERS: Mapping[str, Callable[[ScriptedAnswer], tuple[Json, list[Json]]]] = {
    "/v1/chat/completions": _chat,
    "/v1/responses": _responses,
    "/v1/messages": _messages,
}
