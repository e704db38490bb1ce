"""The dialects of coding agents: which parts of a request are passed on, and where an answer has its text and tokens."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from bot.coder.gateway.settings import MOST_TOKENS, ChatSettings, Fields, MessagesSettings, ResponsesSettings
from bot.models import Message
from bot.models.passing import PROBE
from bot.models.streamed_answer import object_list, object_value, text_value

Name = Literal["chat", "responses", "messages"]
Json = dict[str, Any]

_FEWEST_THOUGHTS = 1024
"""Tokens; Anthropic takes no smaller budget for thinking."""
_THOUGHTS = (("reasoning", "max_tokens"), ("thinking", "budget_tokens"), ("chat_template_kwargs", "thinking_budget"))
"""Where a request bounds the tokens of thoughts, which are a part of its answer."""
_PROBE_TOKENS = 1_000
"""With room for thoughts before the word."""
_SYSTEM = ("system", "developer")
_TEXTS = (None, "text", "input_text", "output_text", "message")
"""Types of parts that are nothing but their text."""


@dataclass
class PartialAnswer:
    """What an answer has said so far."""

    parts: list[str] = field(default_factory=list)
    characters: int = 0
    usage: Json = field(default_factory=dict)
    """Tokens as far as they are reported, under the names of chat completions."""
    ended: bool = False
    """Whether it has come to its own end."""

    def add(self, *parts: object) -> None:
        """Add pieces of text."""
        for part in parts:
            if part and isinstance(part, str):
                self.parts.append(part)
                self.characters += len(part)

    @property
    def text(self) -> str:
        """All of it: prose, thoughts and the arguments of tool calls."""
        return "".join(self.parts)


class Dialect(ABC):
    """One dialect."""

    path: ClassVar[str]
    """Below `/v1`."""
    conversation: ClassVar[tuple[str, ...]]
    """The fields that hold texts of the conversation."""
    settings: ClassVar[type[Fields]]
    """Further fields that are passed on; all others are left out."""
    limits: ClassVar[tuple[str, ...]]
    """The fields that limit an answer's tokens; if none is set and one is needed, the last is used."""
    stored_fields: ClassVar[tuple[str, ...]] = ()
    """Fields that name a conversation that the endpoint keeps."""
    own_tools: ClassVar[tuple[str, ...]]
    """Kinds of tools that the agent itself runs, without their dates; the endpoint would run all others."""

    def messages(self, body: Json) -> list[Message]:
        """Return everything that is sent, as logged; parts that never change come first."""
        other_fields = {name: v for name, v in body.items() if name not in (*self.conversation, *self.limits, "stream")}
        return [Message("system", json.dumps(other_fields, ensure_ascii=False)), *self._turns(body)]

    def limit_tokens(self, body: Json, max_tokens: int | None) -> Json:
        """Return a request whose answer may have at most so many tokens, including reasoning."""
        limits = {name: limit for name in self.limits if isinstance(limit := body.get(name), int)}
        if max_tokens is not None:
            limits = {name: min(limit, max_tokens) for name, limit in limits.items()} or {self.limits[-1]: max_tokens}
        request, room = {**body, **limits}, min(limits.values(), default=MOST_TOKENS)
        for field_name, name in _THOUGHTS:
            settings = object_value(body.get(field_name))
            if isinstance(thoughts := settings.get(name), int) and thoughts >= room:
                request[field_name] = {**settings, name: max(min(_FEWEST_THOUGHTS, room - 1), room // 2)}
        return request

    def asked_tokens(self, body: Json) -> int | None:
        """Return the maximum tokens of an answer that a request sets; None: it sets none."""
        return min((limit for name in self.limits if isinstance(limit := body.get(name), int)), default=None)

    def probe(self) -> Json:
        """Return a short request of ours."""
        messages = [{"role": "user", "content": PROBE}]
        return {"model": "", self.conversation[-1]: messages, self.limits[-1]: _PROBE_TOKENS}

    def prepare(self, body: Json) -> Json:
        """Return a request with what the engine sets itself."""
        return body

    def headers(self, key: str, headers: Mapping[str, str]) -> Json:
        """Return the headers of a request with its key, and those of the agent that are passed on."""
        return {"Authorization": f"Bearer {key}"}

    @abstractmethod
    def read_answer(self, partial: PartialAnswer, answer: Json) -> None:
        """Read an answer that is not a stream."""

    @abstractmethod
    def event(self, partial: PartialAnswer, data: Json) -> None:
        """Read one event of a stream."""

    def shown(self, request: Json, data: Json) -> bool:
        """Return whether an event is for the agent, too."""
        return True

    def is_last(self, partial: PartialAnswer, event: bytes) -> bool:
        """Return whether nothing comes after an event, though the endpoint should not hang up."""
        return partial.ended

    def with_notice(self, body: Json, notice: str) -> Json:
        """Return a request with a further text of the user."""
        return {**body, "messages": [*body["messages"], {"role": "user", "content": notice}]}

    @abstractmethod
    def _turns(self, body: Json) -> list[Message]:
        """Return the conversation as it is logged."""

    def error(self, kind: str, text: str) -> Json:
        """Return the body of an error."""
        return {"error": {"message": text, "type": kind, "code": kind, "param": None}}

    def error_event(self, text: str) -> bytes:
        """Return the event that ends a stream early."""
        return f"data: {json.dumps(self.error('server_error', text))}\n\n".encode()


class Chat(Dialect):
    """Chat completions."""

    path = "/chat/completions"
    conversation = ("messages",)
    settings = ChatSettings
    limits = ("max_completion_tokens", "max_tokens")
    own_tools = ("function", "custom")

    def prepare(self, body: Json) -> Json:
        """Have a stream report its tokens."""
        return {**body, "stream_options": {"include_usage": True}} if body.get("stream") else body

    def read_answer(self, partial: PartialAnswer, answer: Json) -> None:
        """Read an answer that is not a stream."""
        partial.ended = bool(answer.get("choices"))
        for choice in object_list(answer.get("choices")):
            self._read_message(partial, choice.get("message"))
        partial.usage = object_value(answer.get("usage"))

    def event(self, partial: PartialAnswer, data: Json) -> None:
        """Read one event of a stream."""
        for choice in object_list(data.get("choices")):
            self._read_message(partial, choice.get("delta"))
            partial.ended = partial.ended or bool(choice.get("finish_reason"))
        partial.usage = object_value(data.get("usage")) or partial.usage

    def shown(self, request: Json, data: Json) -> bool:
        """Return whether an event is for the agent, too: tokens are not, unless it asked for them."""
        return data.get("choices") != [] or bool(object_value(request.get("stream_options")).get("include_usage"))

    def is_last(self, partial: PartialAnswer, event: bytes) -> bool:
        """Return whether nothing comes after an event: tokens do after the end of the text."""
        return partial.ended and event.strip() in (b"data: [DONE]", b"data:[DONE]")

    def _read_message(self, partial: PartialAnswer, message: object) -> None:
        fields = object_value(message)
        partial.add(
            fields.get("reasoning_content") or fields.get("reasoning"),
            _text(fields.get("content")),
            fields.get("refusal"),
        )
        for call in object_list(fields.get("tool_calls")):
            function = object_value(call.get("function")) or object_value(call.get("custom"))
            partial.add(function.get("name"), function.get("arguments") or function.get("input"))

    def _turns(self, body: Json) -> list[Message]:
        return [_turn(message) for message in body["messages"]]


class Responses(Dialect):
    """Responses, without anything that the endpoint would keep."""

    path = "/responses"
    conversation = ("instructions", "input")
    settings = ResponsesSettings
    limits = ("max_output_tokens",)
    stored_fields = ("previous_response_id", "conversation", "prompt")
    own_tools = ("function", "custom", "local_shell", "namespace")

    def prepare(self, body: Json) -> Json:
        """Have nothing kept."""
        return {**body, "store": False}

    def read_answer(self, partial: PartialAnswer, answer: Json) -> None:
        """Read an answer that is not a stream."""
        partial.ended = "output" in answer
        for item in object_list(answer.get("output")):
            if not isinstance(item.get("content"), list):
                partial.add(item.get("name"), item.get("arguments"), item.get("input"))
            for part in (*object_list(item.get("content")), *object_list(item.get("summary"))):
                partial.add(part.get("text"), part.get("refusal"))
        self._count_tokens(partial, answer)

    def event(self, partial: PartialAnswer, data: Json) -> None:
        """Read one event of a stream."""
        kind = str(data.get("type"))
        if kind.endswith(".delta"):
            partial.add(data.get("delta"))
        elif kind == "response.output_item.added":
            partial.add(object_value(data.get("item")).get("name"))
        elif kind in ("response.completed", "response.incomplete", "response.failed"):
            partial.ended = True
            self._count_tokens(partial, object_value(data.get("response")))
            if not partial.parts:
                self.read_answer(partial, object_value(data.get("response")))

    def with_notice(self, body: Json, notice: str) -> Json:
        """Return a request with a further text of the user."""
        turns = body["input"]
        before = [{"role": "user", "content": turns}] if isinstance(turns, str) else turns
        return {**body, "input": [*before, {"role": "user", "content": notice}]}

    def error_event(self, text: str) -> bytes:
        """Return the event that ends a stream early."""
        error = {"type": "error", "code": "server_error", "message": text, "param": None}
        return f"event: error\ndata: {json.dumps(error)}\n\n".encode()

    def _turns(self, body: Json) -> list[Message]:
        content = body["input"]
        turns = [Message("user", content)] if isinstance(content, str) else [_turn(item) for item in content]
        return [Message("system", str(body["instructions"])), *turns] if body.get("instructions") else turns

    def _count_tokens(self, partial: PartialAnswer, answer: Json) -> None:
        usage = object_value(answer.get("usage"))
        partial.usage = {
            "prompt_tokens": usage.get("input_tokens"),
            "completion_tokens": usage.get("output_tokens"),
            "prompt_tokens_details": usage.get("input_tokens_details"),
        }


class Messages(Dialect):
    """Anthropic's messages."""

    path = "/messages"
    conversation = ("system", "messages")
    settings = MessagesSettings
    limits = ("max_tokens",)
    own_tools = ("custom", "bash_", "text_editor_", "memory_", "computer_")

    def headers(self, key: str, headers: Mapping[str, str]) -> Json:
        """Return the headers of a request with its key, and those of the agent that are passed on."""
        versions = {name: headers[name] for name in ("anthropic-version", "anthropic-beta") if name in headers}
        return {"anthropic-version": "2023-06-01", **versions, "x-api-key": key}

    def read_answer(self, partial: PartialAnswer, answer: Json) -> None:
        """Read an answer that is not a stream."""
        partial.ended = bool(answer.get("stop_reason"))
        for block in object_list(answer.get("content")):
            self._block(partial, block)
        self._count_tokens(partial, answer)

    def event(self, partial: PartialAnswer, data: Json) -> None:
        """Read one event of a stream."""
        kind = data.get("type")
        if kind == "message_start":
            self._count_tokens(partial, object_value(data.get("message")))
        elif kind == "content_block_start":
            self._block(partial, object_value(data.get("content_block")))
        elif kind == "content_block_delta":
            self._block(partial, object_value(data.get("delta")))
        elif kind == "message_delta":
            self._count_tokens(partial, data)
        elif kind == "message_stop":
            partial.ended = True

    def error(self, kind: str, text: str) -> Json:
        """Return the body of an error."""
        return {"type": "error", "error": {"type": kind, "message": text}}

    def error_event(self, text: str) -> bytes:
        """Return the event that ends a stream early."""
        return f"event: error\ndata: {json.dumps(self.error('api_error', text))}\n\n".encode()

    def _turns(self, body: Json) -> list[Message]:
        turns = [_turn(message) for message in body["messages"]]
        return [Message("system", _readable(body["system"])), *turns] if body.get("system") else turns

    def _block(self, partial: PartialAnswer, block: Json) -> None:
        tool_input = block.get("input")
        partial.add(block.get("thinking"), block.get("text"), block.get("name"), block.get("partial_json"))
        partial.add(json.dumps(tool_input, ensure_ascii=False) if tool_input else None)

    def _count_tokens(self, partial: PartialAnswer, message: Json) -> None:
        """Add reported tokens; later reports replace earlier ones, field by field."""
        partial.usage = {
            **partial.usage,
            **{k: v for k, v in object_value(message.get("usage")).items() if v is not None},
        }
        count_names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        input_counts = [partial.usage.get(name) for name in count_names]
        if isinstance(input_counts[0], int):
            partial.usage["prompt_tokens"] = sum(count for count in input_counts if isinstance(count, int))
        if "output_tokens" in partial.usage:
            partial.usage["completion_tokens"] = partial.usage["output_tokens"]


DIALECTS: Mapping[Name, Dialect] = {"chat": Chat(), "responses": Responses(), "messages": Messages()}


def _turn(message: object) -> Message:
    """Return one message, or one item of a conversation, as it is logged."""
    fields = object_value(message)
    role, kind = fields.get("role"), str(fields.get("type", ""))
    content = _readable({name: part for name, part in fields.items() if name != "role"})
    if role in _SYSTEM:
        return Message("system", content)
    answers = role == "assistant" or (role is None and not kind.endswith("_output"))
    return Message("assistant" if answers else "user", content)


def _readable(value: object) -> str:
    """Return a JSON value as plain text, for searches in its texts."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(map(_readable, value))
    if isinstance(value, dict):
        plain = value.keys() <= {"type", "text", "content"} and value.get("type") in _TEXTS
        parts = {name: part for name, part in value.items() if not (plain and name == "type")}
        return "\n".join(_readable(part) if plain else f"{name}: {_readable(part)}" for name, part in parts.items())
    return json.dumps(value)


def _text(content: object) -> str:
    parts = content if isinstance(content, list) else [{"text": content}]
    return "".join(text_value(part.get("text")) for part in object_list(parts))
