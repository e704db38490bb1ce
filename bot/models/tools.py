"""Native tool calls, translated at the endpoint; everywhere else a command is a fenced block in a message's text."""

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol, runtime_checkable

from bot.models import Message, Prompt
from bot.models.commands import prose_and_command, with_command, without_command

_AROUND = re.compile(r"\A\s*```(?:json)?\s(?=\s*\{)|(?<=\})\s{0,9}(?:<[^<>\"]{1,40}>|```\s*)\Z")
"""What some servers leave around arguments: a fence, or tokens such as `<|call|>` and `</tool_call>`."""
_DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True)
class Tool:
    """The one tool of a prompt: a function that takes a command as its only parameter, a string."""

    name: str
    description: str
    parameter: str
    parameter_description: str

    def definition(self) -> dict[str, Any]:
        """Return the tool as an entry of a request's `tools`."""
        schema = {"type": "string", "description": self.parameter_description}
        parameters = {"type": "object", "properties": {self.parameter: schema}, "required": [self.parameter]}
        function = {"name": self.name, "description": self.description, "parameters": parameters}
        return {"type": "function", "function": function}


@runtime_checkable
class UsesTool(Protocol):
    """A prompt whose replies are commands.

    It reads replies with `command_in`. One without a command, or one that was cut off, is answered in the conversation,
    neither repaired nor continued. The text of one that was cut off may be empty.
    """

    @property
    def tool(self) -> Tool | None:
        """The function that carries a command in native tool calls; None: commands are always text."""
        ...


def tool_of(prompt: Prompt[Any]) -> Tool | None:
    """Return the prompt's tool, None if it has none."""
    return prompt.tool if isinstance(prompt, UsesTool) else None


def native_messages(messages: Sequence[Message], tool: Tool) -> list[dict[str, Any]]:
    """Return a conversation with native tool calls, as a request holds it.

    An assistant message with exactly one shell block is a call, and the user message right after it the call's result. All
    others stay as they are. No message's form depends on later ones, so that a conversation's start can be cached.
    """
    native: list[dict[str, Any]] = []
    called: str | None = None
    for index, message in enumerate(messages):
        parts = prose_and_command(message.content) if message.role == "assistant" else None
        if parts is not None:
            called = f"call{index:05d}"  # nine letters and digits, which is what Mistral takes
            native.append(_call(called, *parts, tool))
            continue
        if called is not None and message.role == "user":
            native.append({"role": "tool", "tool_call_id": called, "content": message.content})
        else:
            native.append(asdict(message))
        called = None
    return native


def text_of_calls(content: str, calls: Sequence[object], tool: Tool) -> str:
    """Return a reply with tool calls as text: its prose, and its commands as one shell block.

    Commands of several calls are joined in order. A call that cannot be read (its arguments are cut off, no JSON, or lack
    the parameter) becomes prose unchanged, as do all calls after it, which may depend on it. The function's name is
    ignored, as models mistake it.
    """
    commands: list[str] = []
    prose = [content.strip()]
    for call in calls:
        name, arguments = _function(call)
        command = _command(arguments, tool)
        if command is None or len(prose) > 1:
            arguments_text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
            prose.append(f"{name or tool.name}({arguments_text})")
        else:
            commands.append(command)
    text = "\n\n".join(part for part in prose if part)
    return with_command(text, "\n".join(commands)) if commands else without_command(text)


def _call(id: str, prose: str, command: str, tool: Tool) -> dict[str, Any]:
    function = {"name": tool.name, "arguments": json.dumps({tool.parameter: command}, ensure_ascii=False)}
    calls = [{"id": id, "type": "function", "function": function}]
    return {"role": "assistant", "content": prose or None, "tool_calls": calls}


def _function(call: object) -> tuple[str, object]:
    """Return a call's name and arguments as received; empty if it has none."""
    function = call.get("function", call) if isinstance(call, dict) else None
    if not isinstance(function, dict):
        return "", ""
    return str(function.get("name") or ""), function.get("arguments", function.get("input", ""))


def _command(arguments: object, tool: Tool) -> str | None:
    """Return the command in a call's arguments, None if they cannot be read; some servers send them as an object."""
    for _ in range(2):  # they may be encoded twice
        text = _AROUND.sub("", arguments).strip() if isinstance(arguments, str) else ""
        while text:  # some servers send `{}` before a stream of arguments, or all of them again after it
            try:
                arguments, length = _DECODER.raw_decode(text)
            except (ValueError, RecursionError):
                return None
            text = text[length:].strip()
    # Models that were trained with a shell call its parameter so, and give it words, whatever the definition says.
    command = arguments.get(tool.parameter, arguments.get("cmd")) if isinstance(arguments, dict) else None
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        command = shlex.join(command)
    # A request can carry no lone surrogates, and the next one repeats the conversation.
    return command.encode("utf-8", "replace").decode() if isinstance(command, str) else None
