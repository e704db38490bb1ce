"""Native tool calls at the boundary: above it a command is a fenced block in a message's text, and stays one."""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol, runtime_checkable

from bot.models import Message, Prompt
from bot.models.commands import prose_and_command, with_command, without_command

_REFUSED_WITH = frozenset({400, 404, 422, 500, 501})
"""500 too: with it llama.cpp says that it was started without tools, and other servers that a call broke them."""
_ABOUT_TOOLS = re.compile(
    r"\btools?\b|\btool[ _-]?(use|calls?|choice)|\bfunctions?\b|\bfunction[ _-]?call|reasoning_content|thought_signature",
    re.IGNORECASE,
)
"""The last two: what some endpoints want back with each call, and a conversation of texts does not hold."""


@dataclass(frozen=True)
class Tool:
    """The one tool of a prompt: a function that takes a command as its only parameter, a string."""

    name: str
    description: str
    parameter: str
    parameter_description: str

    def definition(self) -> dict[str, Any]:
        """Return it as a request's `tools` holds it."""
        schema = {"type": "string", "description": self.parameter_description}
        parameters = {"type": "object", "properties": {self.parameter: schema}, "required": [self.parameter]}
        function = {"name": self.name, "description": self.description, "parameters": parameters}
        return {"type": "function", "function": function}


@runtime_checkable
class UsesTool(Protocol):
    """A prompt whose replies are commands.

    It reads a reply with `command_in` and answers one without a command, or one that was cut off, in the conversation: such
    a reply is neither repaired nor gone on with. Its text may be empty if it was cut off.
    """

    @property
    def tool(self) -> Tool | None:
        """What carries a command where the endpoint has native tool calls; None: nothing does."""
        ...


def tool_of(prompt: Prompt[Any]) -> Tool | None:
    """Return the prompt's tool, None if it has none."""
    return prompt.tool if isinstance(prompt, UsesTool) else None


def native_messages(messages: Sequence[Message], tool: Tool) -> list[dict[str, Any]]:
    """Return a conversation with native tool calls, as a request holds it.

    An assistant message with exactly one shell block is a call, and the user message right after it the call's result. All
    others stay as they are. What becomes of a message depends on none after it, so a longer conversation begins alike.
    """
    found: list[dict[str, Any]] = []
    called: str | None = None
    for index, message in enumerate(messages):
        parts = prose_and_command(message.content) if message.role == "assistant" else None
        if parts is not None:
            called = f"call{index:05d}"  # nine letters and digits, which is what Mistral takes
            found.append(_call(called, *parts, tool))
            continue
        if called is not None and message.role == "user":
            found.append({"role": "tool", "tool_call_id": called, "content": message.content})
        else:
            found.append(asdict(message))
        called = None
    return found


def text_of_calls(content: str, calls: Sequence[object], tool: Tool) -> str:
    """Return a reply with tool calls as text: what it says, and its commands as one shell block.

    Commands of several calls are joined in order. A call that cannot be read (its arguments are cut off, no JSON, or lack
    the parameter) is prose as it came, as are all calls after it, which may depend on it. Only the parameter is looked at,
    as models mistake the function's name.
    """
    commands: list[str] = []
    prose = [content.strip()]
    for call in calls:
        name, arguments = _function(call)
        command = _command(arguments, tool)
        if command is None or len(prose) > 1:
            shown = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
            prose.append(f"{name or tool.name}({shown})")
        else:
            commands.append(command)
    said = "\n\n".join(part for part in prose if part)
    return with_command(said, "\n".join(commands)) if commands else without_command(said)


def is_about_tools(status: int, words: str) -> bool:
    """Return whether an endpoint's error, by HTTP status and message, may be about tools, so that it is asked without."""
    return status in _REFUSED_WITH and bool(_ABOUT_TOOLS.search(words))


def _call(id: str, prose: str, command: str, tool: Tool) -> dict[str, Any]:
    function = {"name": tool.name, "arguments": json.dumps({tool.parameter: command}, ensure_ascii=False)}
    calls = [{"id": id, "type": "function", "function": function}]
    return {"role": "assistant", "content": prose or None, "tool_calls": calls}


def _function(call: object) -> tuple[str, object]:
    """Return a call's name and arguments as they came; empty where it has none."""
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        return "", ""
    return str(function.get("name") or ""), function.get("arguments", "")


def _command(arguments: object, tool: Tool) -> str | None:
    """Return the command that arguments hold, None where they cannot be read; some servers send them as an object."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments, strict=False)
        except (ValueError, RecursionError):
            return None
    command = arguments.get(tool.parameter) if isinstance(arguments, dict) else None
    # A request can carry no lone surrogates, and the conversation goes back with the next one.
    return command.encode("utf-8", "replace").decode() if isinstance(command, str) else None
