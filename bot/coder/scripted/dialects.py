"""An endpoint's side of the three dialects: what a request asks, and the answer, whole or as a stream."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

PATHS: Mapping[str, Literal["chat", "responses", "messages"]] = {
    "/v1/chat/completions": "chat",
    "/v1/responses": "responses",
    "/v1/messages": "messages",
}
"""The dialect of each path."""

_SHELLS = ("bash", "sh", "shell", "exec_command", "shell_command")
"""What agents call the tool that runs a command, in small letters."""
_CALLS = ("function_call", "custom_tool_call", "local_shell_call")

Json = dict[str, Any]


@dataclass(frozen=True)
class Counted:
    """Tokens of one answer, as the endpoint counts them."""

    prompt: int
    """All that were sent, cached ones included."""
    cached: int
    completion: int


_EDIT = "<<<<<<< SEARCH"
"""In requests of agents that edit files by blocks of what is there and what is to be."""


@dataclass(frozen=True)
class Asked:
    """A request, as far as a script needs it."""

    model: str
    stream: bool
    turns: int
    """Answers that the conversation holds already."""
    tool: str | None
    """Name of the tool that runs a command; None: none was offered."""
    parameters: Mapping[str, Any]
    """JSON schema of that tool's arguments."""
    edits: str
    """All of it, as JSON, where it asks for edits of a file in an answer without tools."""


@dataclass(frozen=True)
class Said:
    """An answer: a command for the tool, or a text."""

    text: str
    command: str | None = None


def asked(dialect: str, body: Json) -> Asked:
    """Read a request; raises KeyError, TypeError or AttributeError where it is none of this dialect."""
    name, parameters = _shell(body.get("tools") or ())
    if dialect == "responses":
        items = body["input"] if isinstance(body["input"], list) else []
        turns = sum(one.get("type") in _CALLS or one.get("role") == "assistant" for one in items)
    else:
        turns = sum(one["role"] == "assistant" for one in body["messages"])
    # The bot's own requests, which stand beside the agent's, ask for other things.
    text = json.dumps(body, ensure_ascii=False)
    edits = text if name is None and _EDIT in text else ""
    return Asked(body["model"], bool(body.get("stream")), turns, name, parameters, edits)


def _shell(tools: Sequence[Json]) -> tuple[str | None, Mapping[str, Any]]:
    for one in tools:
        tool = one.get("function", one)
        if str(tool.get("name", "")).lower() in _SHELLS:
            return tool["name"], tool.get("parameters") or tool.get("input_schema") or {}
    return None, {}


def arguments(parameters: Mapping[str, Any], command: str) -> Json:
    """Return a tool's arguments for a command; what else its schema requires is filled in."""
    properties = parameters.get("properties", {})
    name = "cmd" if "cmd" in properties else "command"
    is_list = properties.get(name, {}).get("type") == "array"
    others = {key: "scripted" for key in parameters.get("required", ()) if key != name}
    return {**others, name: ["bash", "-c", command] if is_list else command}


def whole(dialect: str, to: Asked, said: Said, used: Counted) -> Json:
    """Return an answer as one JSON object."""
    return {"chat": _chat, "responses": _response, "messages": _message}[dialect](to, said, used)


def stream(dialect: str, to: Asked, said: Said, used: Counted) -> Iterator[tuple[str | None, Json | str]]:
    """Yield an answer as events: the name of each, if the dialect names them, and its content."""
    return {"chat": _chat_stream, "responses": _response_stream, "messages": _message_stream}[dialect](to, said, used)


def _id(kind: str, to: Asked) -> str:
    return f"{kind}_{to.turns}"


def _chat(to: Asked, said: Said, used: Counted) -> Json:
    message: Json = {"role": "assistant", "content": said.text}
    if said.command is not None:
        called = {"name": to.tool, "arguments": json.dumps(arguments(to.parameters, said.command))}
        message["tool_calls"] = [{"id": _id("call", to), "type": "function", "function": called}]
    reason = "stop" if said.command is None else "tool_calls"
    return {
        "id": _id("chat", to),
        "object": "chat.completion",
        "created": 0,
        "model": to.model,
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {
            "prompt_tokens": used.prompt,
            "completion_tokens": used.completion,
            "total_tokens": used.prompt + used.completion,
            "prompt_tokens_details": {"cached_tokens": used.cached},
        },
    }


def _chat_stream(to: Asked, said: Said, used: Counted) -> Iterator[tuple[None, Json | str]]:
    answer = _chat(to, said, used)
    choice, usage = answer["choices"][0], answer.pop("usage")
    delta = choice["message"]
    for call in delta.get("tool_calls", ()):
        call["index"] = 0
    chunk = {**answer, "object": "chat.completion.chunk"}
    yield None, {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield None, {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    yield None, {**chunk, "choices": [], "usage": usage}
    yield None, "[DONE]"


def _response(to: Asked, said: Said, used: Counted) -> Json:
    if said.command is None:
        part = {"type": "output_text", "text": said.text, "annotations": []}
        item: Json = {"type": "message", "id": _id("msg", to), "role": "assistant", "content": [part]}
    else:
        text = json.dumps(arguments(to.parameters, said.command))
        call = {"id": _id("fc", to), "call_id": _id("call", to), "name": to.tool, "arguments": text}
        item = {"type": "function_call", **call}
    return {
        "id": _id("resp", to),
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "model": to.model,
        "output": [{**item, "status": "completed"}],
        "usage": {
            "input_tokens": used.prompt,
            "input_tokens_details": {"cached_tokens": used.cached},
            "output_tokens": used.completion,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": used.prompt + used.completion,
        },
    }


def _response_stream(to: Asked, said: Said, used: Counted) -> Iterator[tuple[str, Json]]:
    answer = _response(to, said, used)
    begun = {**answer, "status": "in_progress", "output": [], "usage": None}
    item = {"output_index": 0, "item": answer["output"][0]}
    events: list[tuple[str, Json]] = [
        ("response.created", {"response": begun}),
        ("response.output_item.added", item),
        ("response.output_item.done", item),
        ("response.completed", {"response": answer}),
    ]
    for number, (name, content) in enumerate(events):
        yield name, {"type": name, "sequence_number": number, **content}


def _message(to: Asked, said: Said, used: Counted) -> Json:
    content: list[Json] = [{"type": "text", "text": said.text}]
    if said.command is not None:
        call = {"id": _id("toolu", to), "name": to.tool, "input": arguments(to.parameters, said.command)}
        content = [{"type": "tool_use", **call}]
    return {
        "id": _id("msg", to),
        "type": "message",
        "role": "assistant",
        "model": to.model,
        "content": content,
        "stop_reason": "end_turn" if said.command is None else "tool_use",
        "stop_sequence": None,
        "usage": {
            # Here, other than in the two older dialects, cached tokens are counted beside, not among those that were sent.
            "input_tokens": used.prompt - used.cached,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": used.cached,
            "output_tokens": used.completion,
        },
    }


def _message_stream(to: Asked, said: Said, used: Counted) -> Iterator[tuple[str, Json]]:
    answer = _message(to, said, used)
    block, usage = answer["content"][0], answer["usage"]
    if block["type"] == "text":
        begun: Json = {**block, "text": ""}
        delta: Json = {"type": "text_delta", "text": block["text"]}
    else:
        begun = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    opening = {**answer, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    end = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
    events: list[tuple[str, Json]] = [
        ("message_start", {"message": opening}),
        ("content_block_start", {"index": 0, "content_block": begun}),
        ("content_block_delta", {"index": 0, "delta": delta}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": end, "usage": {"output_tokens": used.completion}}),
        ("message_stop", {}),
    ]
    for name, content in events:
        yield name, {"type": name, **content}
