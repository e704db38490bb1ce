"""The dialects that coding agents speak: what of a request is passed on, and what an answer says of text and tokens."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from bot.coder.gateway.settings import MOST_TOKENS, ChatSettings, Fields, MessagesSettings, ResponsesSettings
from bot.models import Message
from bot.models.passing import PROBE

Name = Literal["chat", "responses", "messages"]
Json = dict[str, Any]

_FEWEST_THOUGHTS = 1024
"""Tokens; Anthropic takes no smaller budget for thinking."""
_THOUGHTS = (("reasoning", "max_tokens"), ("thinking", "budget_tokens"), ("chat_template_kwargs", "thinking_budget"))
"""Where a request bounds the tokens of thoughts, which are a part of its answer."""
_PROBE_TOKENS = 64
_SYSTEM = ("system", "developer")
_TEXTS = (None, "text", "input_text", "output_text", "message")
"""Types of parts that are nothing but their text."""


@dataclass
class Heard:
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
    """The fields that bound an answer's tokens; the last one is set where none is and one is needed."""
    stored: ClassVar[tuple[str, ...]] = ()
    """Fields that name a conversation that the endpoint keeps."""
    own_tools: ClassVar[tuple[str, ...]]
    """Kinds of tools that the agent itself runs, or their beginnings; the endpoint would run all others."""

    def messages(self, body: Json) -> list[Message]:
        """Return all that is sent, as the log holds it; what never changes stands first."""
        rest = {name: one for name, one in body.items() if name not in (*self.conversation, *self.limits, "stream")}
        return [Message("system", json.dumps(rest, ensure_ascii=False)), *self._turns(body)]

    def bounded(self, body: Json, most: int | None) -> Json:
        """Return a request whose answer may have so many tokens at the most, thoughts included."""
        given = {name: one for name in self.limits if isinstance(one := body.get(name), int)}
        if most is not None:
            given = {name: min(one, most) for name, one in given.items()} or {self.limits[-1]: most}
        bounded, room = {**body, **given}, min(given.values(), default=MOST_TOKENS)
        for field_name, name in _THOUGHTS:
            settings = _dict(body.get(field_name))
            if isinstance(thoughts := settings.get(name), int) and thoughts >= room:
                bounded[field_name] = {**settings, name: max(min(_FEWEST_THOUGHTS, room - 1), room // 2)}
        return bounded

    def asked_tokens(self, body: Json) -> int | None:
        """Return the most tokens of an answer that a request asks for; None where it does not say."""
        return min((one for name in self.limits if isinstance(one := body.get(name), int)), default=None)

    def probe(self) -> Json:
        """Return a short request of ours."""
        said = [{"role": "user", "content": PROBE}]
        return {"model": "", self.conversation[-1]: said, self.limits[-1]: _PROBE_TOKENS}

    def prepared(self, body: Json) -> Json:
        """Return a request with what the engine sets itself."""
        return body

    def headers(self, key: str, asked: Mapping[str, str]) -> Json:
        """Return the headers of a request that carry its key, and what of the agent's goes on."""
        return {"Authorization": f"Bearer {key}"}

    @abstractmethod
    def whole(self, heard: Heard, answer: Json) -> None:
        """Take in an answer that came whole."""

    @abstractmethod
    def event(self, heard: Heard, data: Json) -> None:
        """Take in one event of a stream."""

    def shown(self, request: Json, data: Json) -> bool:
        """Return whether an event is for the agent, too."""
        return True

    def is_last(self, heard: Heard, event: bytes) -> bool:
        """Return whether nothing comes after an event, though the endpoint should not hang up."""
        return heard.ended

    @abstractmethod
    def with_notice(self, body: Json, notice: str) -> Json:
        """Return a request with a further text of the user."""

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

    def prepared(self, body: Json) -> Json:
        """Have a stream report its tokens."""
        return {**body, "stream_options": {"include_usage": True}} if body.get("stream") else body

    def whole(self, heard: Heard, answer: Json) -> None:
        """Take in an answer that came whole."""
        heard.ended = bool(answer.get("choices"))
        for choice in _dicts(answer.get("choices")):
            self._said(heard, choice.get("message"))
        heard.usage = _dict(answer.get("usage"))

    def event(self, heard: Heard, data: Json) -> None:
        """Take in one event of a stream."""
        for choice in _dicts(data.get("choices")):
            self._said(heard, choice.get("delta"))
            heard.ended = heard.ended or bool(choice.get("finish_reason"))
        heard.usage = _dict(data.get("usage")) or heard.usage

    def shown(self, request: Json, data: Json) -> bool:
        """Return whether an event is for the agent, too: tokens are not, unless it asked for them."""
        return data.get("choices") != [] or bool(_dict(request.get("stream_options")).get("include_usage"))

    def is_last(self, heard: Heard, event: bytes) -> bool:
        """Return whether nothing comes after an event: tokens do after the end of the text."""
        return heard.ended and event.strip() in (b"data: [DONE]", b"data:[DONE]")

    def with_notice(self, body: Json, notice: str) -> Json:
        """Return a request with a further text of the user."""
        return {**body, "messages": [*body["messages"], {"role": "user", "content": notice}]}

    def _said(self, heard: Heard, message: object) -> None:
        said = _dict(message)
        heard.add(
            said.get("reasoning_content") or said.get("reasoning"), _text(said.get("content")), said.get("refusal")
        )
        for call in _dicts(said.get("tool_calls")):
            function = _dict(call.get("function")) or _dict(call.get("custom"))
            heard.add(function.get("name"), function.get("arguments") or function.get("input"))

    def _turns(self, body: Json) -> list[Message]:
        return [_turn(one) for one in body["messages"]]


class Responses(Dialect):
    """Responses, without anything that the endpoint would keep."""

    path = "/responses"
    conversation = ("instructions", "input")
    settings = ResponsesSettings
    limits = ("max_output_tokens",)
    stored = ("previous_response_id", "conversation", "prompt")
    own_tools = ("function", "custom", "local_shell", "namespace")

    def prepared(self, body: Json) -> Json:
        """Have nothing kept."""
        return {**body, "store": False}

    def whole(self, heard: Heard, answer: Json) -> None:
        """Take in an answer that came whole."""
        heard.ended = "output" in answer
        for item in _dicts(answer.get("output")):
            if not isinstance(item.get("content"), list):
                heard.add(item.get("name"), item.get("arguments"), item.get("input"))
            for part in (*_dicts(item.get("content")), *_dicts(item.get("summary"))):
                heard.add(part.get("text"), part.get("refusal"))
        self._counted(heard, answer)

    def event(self, heard: Heard, data: Json) -> None:
        """Take in one event of a stream."""
        kind = str(data.get("type"))
        if kind.endswith(".delta"):
            heard.add(data.get("delta"))
        elif kind == "response.output_item.added":
            heard.add(_dict(data.get("item")).get("name"))
        elif kind in ("response.completed", "response.incomplete", "response.failed"):
            heard.ended = True
            self._counted(heard, _dict(data.get("response")))
            if not heard.parts:
                self.whole(heard, _dict(data.get("response")))

    def with_notice(self, body: Json, notice: str) -> Json:
        """Return a request with a further text of the user."""
        given = body["input"]
        before = [{"role": "user", "content": given}] if isinstance(given, str) else given
        return {**body, "input": [*before, {"role": "user", "content": notice}]}

    def error_event(self, text: str) -> bytes:
        """Return the event that ends a stream early."""
        error = {"type": "error", "code": "server_error", "message": text, "param": None}
        return f"event: error\ndata: {json.dumps(error)}\n\n".encode()

    def _turns(self, body: Json) -> list[Message]:
        given = body["input"]
        turns = [Message("user", given)] if isinstance(given, str) else [_turn(one) for one in given]
        return [Message("system", str(body["instructions"])), *turns] if body.get("instructions") else turns

    def _counted(self, heard: Heard, answer: Json) -> None:
        usage = _dict(answer.get("usage"))
        heard.usage = {
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

    def headers(self, key: str, asked: Mapping[str, str]) -> Json:
        """Return the headers of a request that carry its key, and what of the agent's goes on."""
        named = {name: asked[name] for name in ("anthropic-version", "anthropic-beta") if name in asked}
        return {"anthropic-version": "2023-06-01", **named, "x-api-key": key}

    def whole(self, heard: Heard, answer: Json) -> None:
        """Take in an answer that came whole."""
        heard.ended = bool(answer.get("stop_reason"))
        for block in _dicts(answer.get("content")):
            self._block(heard, block)
        self._counted(heard, answer)

    def event(self, heard: Heard, data: Json) -> None:
        """Take in one event of a stream."""
        kind = data.get("type")
        if kind == "message_start":
            self._counted(heard, _dict(data.get("message")))
        elif kind == "content_block_start":
            self._block(heard, _dict(data.get("content_block")))
        elif kind == "content_block_delta":
            self._block(heard, _dict(data.get("delta")))
        elif kind == "message_delta":
            self._counted(heard, data)
        elif kind == "message_stop":
            heard.ended = True

    def with_notice(self, body: Json, notice: str) -> Json:
        """Return a request with a further text of the user."""
        return {**body, "messages": [*body["messages"], {"role": "user", "content": notice}]}

    def error(self, kind: str, text: str) -> Json:
        """Return the body of an error."""
        return {"type": "error", "error": {"type": kind, "message": text}}

    def error_event(self, text: str) -> bytes:
        """Return the event that ends a stream early."""
        return f"event: error\ndata: {json.dumps(self.error('api_error', text))}\n\n".encode()

    def _turns(self, body: Json) -> list[Message]:
        turns = [_turn(one) for one in body["messages"]]
        return [Message("system", _shown(body["system"])), *turns] if body.get("system") else turns

    def _block(self, heard: Heard, block: Json) -> None:
        given = block.get("input")
        heard.add(block.get("thinking"), block.get("text"), block.get("name"), block.get("partial_json"))
        heard.add(json.dumps(given, ensure_ascii=False) if given else None)

    def _counted(self, heard: Heard, message: Json) -> None:
        """Take in tokens; a later report goes before an earlier one, field by field."""
        heard.usage = {**heard.usage, **{k: v for k, v in _dict(message.get("usage")).items() if v is not None}}
        own = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        sent = [heard.usage.get(name) for name in own]
        if isinstance(sent[0], int):
            heard.usage["prompt_tokens"] = sum(one for one in sent if isinstance(one, int))
        if "output_tokens" in heard.usage:
            heard.usage["completion_tokens"] = heard.usage["output_tokens"]


DIALECTS: Mapping[Name, Dialect] = {"chat": Chat(), "responses": Responses(), "messages": Messages()}


def _turn(message: object) -> Message:
    """Return one message, or one item of a conversation, as it is logged."""
    one = _dict(message)
    role, kind = one.get("role"), str(one.get("type", ""))
    content = _shown({name: part for name, part in one.items() if name != "role"})
    if role in _SYSTEM:
        return Message("system", content)
    answers = role == "assistant" or (role is None and not kind.endswith("_output"))
    return Message("assistant" if answers else "user", content)


def _shown(value: object) -> str:
    """Return all of a JSON value as plain text, in which a search finds what its texts say."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(map(_shown, value))
    if isinstance(value, dict):
        plain = value.keys() <= {"type", "text", "content"} and value.get("type") in _TEXTS
        shown = {name: one for name, one in value.items() if not (plain and name == "type")}
        return "\n".join(_shown(one) if plain else f"{name}: {_shown(one)}" for name, one in shown.items())
    return json.dumps(value)


def _text(content: object) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in _dicts(content))
    return content if isinstance(content, str) else ""


def _dict(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _dicts(value: object) -> Iterable[Json]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
