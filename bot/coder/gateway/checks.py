"""What a request of a coding agent may say: everything that would reach past the model is refused, or left out."""

import json
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Any

from pydantic import ValidationError

from bot.coder.gateway.dialects import Dialect, Json
from bot.coder.gateway.settings import MOST_TOKENS
from bot.models.quoting import line
from bot.models.streamed_answer import object_list, text_value
from scrapers.http.responses import NoJson, read_json
from scrapers.snapshots.fields import sentences

_ADDRESSES = ("url", "urls", "uri", "fileid", "fileids", "containerid", "uuid")
"""How keys end, without dashes, of what an endpoint would fetch, or has kept; data in its own text (`data:`) is neither."""
_MEDIA = ("image", "images", "video", "audio", "file", "data", "document", "source")
"""How keys end under which some endpoints take an address, or a path of their own, in place of data."""
_DATA_ADDRESS = re.compile("data:.*", re.IGNORECASE | re.DOTALL)
_DATA = re.compile(rf"{_DATA_ADDRESS.pattern}|[\w+/=\s-]*", re.IGNORECASE | re.DOTALL | re.ASCII)
_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_CHOICES = ("auto", "any", "none", "tool", "function", "custom", "allowed_tools", "local_shell")
"""Kinds of choices among the agent's own tools."""
_MODES = ("auto", "any", "none", "required")
HEADER = re.compile(r"[\w.,:;=/+ -]{1,2000}", re.ASCII)
"""The value of a header that may be passed on."""


class GatewayRefusal(Exception):
    """A request that is not passed on; the text is a sentence for the agent."""

    def __init__(self, status: int, text: str, kind: str = "invalid_request_error") -> None:
        super().__init__(text)
        self.status = status
        self.kind = kind


def checked(content: bytes, dialect: Dialect, models: Collection[str]) -> Json:
    """Return a request as it may be passed on.

    Args:
        content: the body, as it came.
        dialect: the agent's.
        models: names that it may ask for, the model's own first.

    Raises:
        GatewayRefusal: it is none of this dialect, or asks for what no agent in a lab is given.
    """
    try:
        body = read_json(content.decode())
        json.dumps(body, allow_nan=False)
        _check_arguments(body)
    except ValueError as error:
        raise GatewayRefusal(400, f"the request is not valid JSON: {line(error)}") from None
    if not isinstance(body, dict):
        raise GatewayRefusal(400, "the request is not a JSON object")
    if body.get("model") not in models:
        model = next(iter(models))
        raise GatewayRefusal(404, f"unknown model {line(body.get('model'))!r}: request {model!r}", "not_found_error")
    for name in dialect.stored_fields:
        if body.get(name) is not None:
            raise GatewayRefusal(
                400, f"{name} is not supported: conversations are not stored, so send the whole conversation"
            )
    if body.get("n") not in (None, 1):
        raise GatewayRefusal(400, "`n` is not supported: each request gets one answer")
    _check_limits(body, dialect)
    _check_conversation(body, dialect)
    try:
        settings = dialect.settings.model_validate(_without_foreign_tools(body, dialect))
    except ValidationError as error:
        raise GatewayRefusal(400, f"the request was rejected: {line(next(sentences(error)))}") from None
    forwarded = {name: body[name] for name in (*dialect.conversation, *dialect.limits) if name in body}
    return {**forwarded, **settings.model_dump(exclude_unset=True, by_alias=True)}


def _check_arguments(value: Any) -> None:
    """Raise ValueError if tools are called with JSON that is nested too deep, which endpoints read."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        if key == "arguments" and isinstance(item, str):
            with suppress(NoJson):
                _check_arguments({key: read_json(item)})
        else:
            _check_arguments(item)


def _check_limits(body: Json, dialect: Dialect) -> None:
    for name in dialect.limits:
        limit = body.get(name)
        if limit is not None and (type(limit) is not int or not 0 < limit <= MOST_TOKENS):
            raise GatewayRefusal(400, f"{name} is not a valid number of tokens")


def _check_conversation(body: Json, dialect: Dialect) -> None:
    main = "input" if "input" in dialect.conversation else "messages"
    messages = body.get(main)
    plain = main == "input" and isinstance(messages, str)
    if not plain and not (isinstance(messages, list) and messages and all(isinstance(m, dict) for m in messages)):
        raise GatewayRefusal(400, f"{main} is not a list of messages")
    for message in () if plain else messages or ():
        # By its id alone, the endpoint would take a message that it has kept.
        kind, role = message.get("type") if main == "input" else None, message.get("role")
        if role not in _ROLES and (role is not None or not isinstance(kind, str) or kind == "message"):
            raise GatewayRefusal(400, f"{main} contains a message without a role such as user")
    for name in dialect.conversation:
        for key in _addresses(body.get(name)):
            raise GatewayRefusal(400, f"{key} is not supported: send the data itself instead of its address")


def _addresses(value: Any, key: str = "", inline: re.Pattern[str] | None = None) -> Iterator[str]:
    """Yield keys with an address, or with a stored object; `inline` is the form of data under `key`, if it holds any."""
    if isinstance(value, list):
        for item in value:
            yield from _addresses(item, key, inline)
    elif isinstance(value, dict):
        kind = text_value(value.get("type"))
        words = [item for key, item in value.items() if item and key not in ("id", "type", "status")]
        is_by_id = "id" in value and (not words or (kind == "image_generation_call" and not value.get("result")))
        if is_by_id or kind.lower() == "item_reference":
            yield kind or "id"
        for key, item in value.items():
            name = re.sub("[_-]", "", key.lower())
            is_media = name.endswith(_MEDIA) and not kind.startswith(("text", "search_result"))
            is_stored = key == "audio" and isinstance(item, dict) and "id" in item
            if is_stored or name.endswith("embeds"):  # the latter is a program, where an endpoint unpickles it
                yield key
            # What a tool is called with is between the agent and its tool.
            elif not (key == "input" and kind == "tool_use"):
                yield from _addresses(
                    item, key, _DATA_ADDRESS if name.endswith(_ADDRESSES) else _DATA if is_media else None
                )
    elif inline is not None and value is not None and not inline.fullmatch(str(value)):
        yield key


def _without_foreign_tools(body: Json, dialect: Dialect) -> Json:
    """Leave out tools that the endpoint would run: they would reach past the walls, and past the clock."""
    tools, choice = _own_tools(body.get("tools"), dialect), body.get("tool_choice")
    if not tools:
        return {name: v for name, v in body.items() if name not in ("tools", "tool_choice", "parallel_tool_calls")}
    kinds = list(_kinds(choice)) if isinstance(choice, dict) else []
    is_own = all(kind in _CHOICES for kind in kinds) if kinds else choice in _MODES
    return {**{name: value for name, value in body.items() if is_own or name != "tool_choice"}, "tools": tools}


def _kinds(choice: object) -> Iterator[object]:
    """Yield the types of a choice, and of all tools within it."""
    if isinstance(choice, list):
        for item in choice:
            yield from _kinds(item)
    elif isinstance(choice, dict):
        yield from (item for key, item in choice.items() if key == "type")
        yield from _kinds(list(choice.values()))


def _own_tools(tools: object, dialect: Dialect) -> list[Json]:
    kinds = ((str(tool.get("type") or "custom"), tool) for tool in object_list(tools))
    # Anthropic's end with a date.
    allowed = (tool for kind, tool in kinds if kind.rstrip("0123456789") in dialect.own_tools)
    return [{**tool, "tools": _own_tools(tool["tools"], dialect)} if "tools" in tool else tool for tool in allowed]
