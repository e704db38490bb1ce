"""A streamed answer, put together from its chunks as the endpoint would have sent it whole."""

import re
from dataclasses import dataclass
from typing import Any

from bot.models.conventions import REASONING_FIELDS, REASONING_PARTS

Json = dict[str, Any]
_SUCCESS = re.compile(r"(?i)0|2\d\d|true|ok|success\w*|processing|queued|in[_ ]progress|running|completed?")
"""Codes and states of events that are not errors."""
_FINISHES = {
    "length": re.compile(r"length|max_?tokens|token_limit|context_window"),
    "content_filter": re.compile(
        r"(?<!call_)filter|safety|prohibited|sensitive|guardrail|recitation|blocklist|refusal|spii"
    ),
    "error": re.compile(r"error|abort|cancel|system_resource"),
}
"""Servers' own reasons why an answer ended, such as Anthropic's and Gemini's behind gateways, by OpenAI's name or `error`."""


@dataclass
class _Call:
    """One tool call, whose arguments come in pieces."""

    index: object
    id: str = ""
    name: str = ""
    arguments: object = ""
    """As a whole answer has them: a text, or an object where a server sends one."""

    def add(self, piece: Json) -> None:
        function = object_value(piece.get("function", piece))
        # Some servers repeat both with each piece.
        self.id = self.id or text_value(piece.get("id"))
        self.name = self.name or text_value(function.get("name"))
        arguments = function.get("arguments", function.get("input", ""))
        if isinstance(arguments, str) and isinstance(self.arguments, str):
            self.arguments += arguments
        elif arguments is not None or not self.arguments:
            self.arguments = arguments

    def as_json(self) -> Json:
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": self.arguments}}


class StreamedAnswer:
    """The first choice of an answer; fields are read as leniently as servers differ."""

    def __init__(self) -> None:
        self.ended = False
        """Whether the answer has come to its own end; only its tokens may follow."""
        self.error: object = None
        """An error that came in place of an answer, or of the rest of one."""
        self.chosen = False
        """Whether it holds a choice."""
        self.finish: str | None = None
        """Why it ended, in the server's words."""
        self._content: list[str] = []
        self._thoughts: list[str] = []
        self._refusal: list[str] = []
        self._calls: list[_Call] = []
        self._usage: Json | None = None

    @property
    def begun(self) -> bool:
        """Whether anything came that is paid for: text, thoughts, or a call."""
        return any((*self._content, *self._thoughts, *self._refusal, self._calls))

    @property
    def text(self) -> str:
        """The text, without the reasoning that has a field or parts of its own."""
        return "".join(self._content)

    @property
    def thoughts(self) -> str:
        """The reasoning, as far as the endpoint shows it; it is paid for, too."""
        return "".join(self._thoughts)

    @property
    def refusal(self) -> str | None:
        """What it says in place of an answer."""
        return "".join(self._refusal) or None

    @property
    def calls(self) -> list[Json]:
        """The tool calls, as a whole answer has them."""
        return [call.as_json() for call in self._calls]

    def add(self, chunk: object) -> None:
        """Take in the next chunk, a decoded JSON value."""
        self.error = error_in(chunk) or self.error
        chunk = object_value(chunk)
        self._usage = object_value(chunk.get("usage")) or self._usage
        for choice in object_list(chunk.get("choices")):
            if str(choice.get("index") or 0) == "0":
                self._add(choice)

    def _add(self, choice: Json) -> None:
        self.chosen = True
        self.error = choice.get("error") or self.error
        # Some gateways send one event with the whole answer, and MiniMax repeats all of it in the last one.
        delta_or_message = choice.get("delta") or (None if self.begun else choice.get("message"))
        delta = object_value(delta_or_message)
        content = delta.get("content", text_value(delta_or_message) or choice.get("text"))
        pieces = content if isinstance(content, list) else [content]
        parts = [piece if isinstance(piece, dict) else {"text": piece} for piece in pieces]
        self._content += [text_value(part.get("text")) for part in parts if part.get("type") not in REASONING_PARTS]
        # Some servers send the same under both names.
        self._thoughts.append(next(filter(None, (text_value(delta.get(name)) for name in REASONING_FIELDS)), ""))
        self._thoughts += [str(part) for part in parts if part.get("type") in REASONING_PARTS]
        self._refusal += [text_value(part.get("refusal")) for part in (delta, *parts)]
        calls = object_list(delta.get("tool_calls") or delta.get("function_call"))
        for piece in [*calls, *(part for part in parts if part.get("type") == "tool_use")]:
            self._call(piece).add(piece)
        finish = text_value(choice.get("finish_reason"))
        if finish_name(finish) == "error":
            self.error = self.error or {"message": f"it failed midway ({finish})"}
        elif finish not in ("", "null"):
            self.finish, self.ended = finish, True

    def _call(self, piece: Json) -> _Call:
        """Return the call that a piece belongs to."""
        index, id = piece.get("index"), text_value(piece.get("id"))
        has_name = bool(text_value(object_value(piece.get("function", piece)).get("name")))
        calls = (
            self._calls if index is None and not id and not has_name else [c for c in self._calls if c.index == index]
        )
        # Gemini numbers all calls 0, and sends each whole; servers without numbers begin each with its name.
        if calls and not (has_name and id and id != calls[-1].id) and not (has_name and index is None and not id):
            return calls[-1]
        self._calls.append(_Call(index))
        return self._calls[-1]

    def body(self) -> Json:
        """Return the body of the answer, as far as it came."""
        if self.error and not self.begun:
            return {"error": self.error}
        message = {"content": self.text, "reasoning_content": self.thoughts, "refusal": self.refusal}
        choice = {"index": 0, "message": {**message, "tool_calls": self.calls}, "finish_reason": self.finish}
        return {"choices": [choice] if self.chosen else [], "usage": self._usage}


def finish_name(reason: str) -> str:
    """Return OpenAI's name of the reason why an answer ended, or `error` if it failed; an unknown one as it is."""
    return next((name for name, form in _FINISHES.items() if form.search(reason.lower())), reason)


def error_in(content: object) -> object:
    """Return the error that an answer or event holds, or that it is: words and a code without choices; None if there is none."""
    fields = object_value(content[0] if isinstance(content, list) and content else content)  # Gemini's is in a list
    if fields.get("error") or fields.get("choices"):
        return fields.get("error")
    objects = [fields, *(item for value in fields.values() for item in object_list(value))]
    words, codes = ("message", "msg", "status_msg"), ("code", "status", "status_code")
    failed = (o for o in objects if any(o.get(c) and not _SUCCESS.fullmatch(str(o[c])) for c in codes))
    return next((o for o in failed if any(text_value(o.get(w)) for w in words)), None)


def text_value(value: object) -> str:
    """Return a JSON value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def object_value(value: object) -> Json:
    """Return a JSON value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def object_list(value: object) -> list[Json]:
    """Return the objects in a JSON value that is a list, or the one that it is; none otherwise."""
    return [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict)]
