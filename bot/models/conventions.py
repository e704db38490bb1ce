"""What models write around their answers, by convention, where their server leaves it: reasoning, channels, tool calls."""

import ast
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

Call = dict[str, Any]
"""A tool call as an endpoint's `tool_calls` has it; its arguments are an object, or the text that was to be one."""

# DeepSeek, Qwen, GLM, Kimi, MiniMax, whose templates may open it in the prompt; EXAONE, Gemini; Seed-OSS; LongCat.
_WORDS = ("think", "thinking", "thought", "reasoning", "seed:think", "longcat_think")
_TAGS = (
    *((f"<{word}>", f"</{word}>") for word in _WORDS),
    ("[THINK]", "[/THINK]"),  # Magistral
    ("<|START_THINKING|>", "<|END_THINKING|>"),  # Command A
    ("◁think▷", "◁/think▷"),  # Kimi-VL
    ("<|channel>thought", "<channel|>"),  # Gemma 4
)
"""What opens reasoning, and what closes it."""
_WRAPPERS = re.compile(
    r"\A\s*(?:<\|begin_of_box\|>|<answer>|<\|START_RESPONSE\|>)"
    r"|(?:<\|end_of_box\|>|</answer>|<\|END_RESPONSE\|>|<\|im_end\|>|<\|eot_id\|>|<turn\|>)\s*\Z"
)
"""What stands around an answer itself."""
_OPENINGS = frozenset(opening for opening, _ in _TAGS)
_TAG = re.compile("|".join(re.escape(tag) for pair in _TAGS for tag in pair))
_FENCE = re.compile(r"^ {0,3}(?P<fence>`{3,}|~{3,})(?P<info>[^`\n]*)$")
REASONING_FIELDS = ("reasoning_content", "reasoning")
"""A message's fields beside its text: DeepSeek's, which most servers took over, and OpenRouter's, vLLM's and Ollama's."""
REASONING_PARTS = ("thinking", "reasoning")
"""Types of a text's parts: Mistral's, and others'."""
_QUOTED_UP_TO, _QUOTED_FROM = re.compile(r"([\"'`}]|\\n)\Z"), re.compile(r"[\"'`\\]")

_CHANNEL = re.compile(
    r"(?:<\|start\|>assistant(?P<to>[^<]*))?<\|channel\|>(?P<header>[^<]*(?:<\|constrain\|>[^<]*)?)<\|message\|>"
    r"(?P<body>.*?)(?=<\|(?:end|return|call|start|channel)\|>|\Z)",
    re.DOTALL,
)
_WITHOUT_TOKENS = re.compile(r"\Aanalysis(?=[A-Z\"'`])")
"""How an answer in channels begins where a server dropped their tokens."""
_RECIPIENT = re.compile(r"\bto=(?:functions\.)?([\w.-]+)")
_LAST_CHANNEL = re.compile(r"assistant(?:final|commentary(?: to=(?:functions\.)?(?P<name>[\w.-]+) ?(?:json|code)?))")


def answer_of(text: str) -> str:
    """Return a model's text without reasoning and what else stands around its answer; empty if all was reasoning.

    Calls in channels come back in the form of `<tool_call>`.
    """
    text = text.replace("\r\n", "\n")
    if _TAG.search(text):
        text = _without_tagged(text)
    if _CHANNEL.search(text):
        return "\n\n".join(filter(None, map(_said_in_channel, _CHANNEL.finditer(text))))
    if _WITHOUT_TOKENS.match(text):
        return _without_channel_names(text)
    return _WRAPPERS.sub("", text)


def calls_in(text: str) -> tuple[str, list[Call]]:
    """Return the prose of an answer, and the tool calls that stand in it as text, in order."""
    matches = ((match, read) for _, form, read in CALLS for match in form.finditer(text))
    pieces = sorted(((match.span(), list(read(match))) for match, read in matches), key=lambda piece: piece[0])
    prose, calls, position = list[str](), list[Call](), 0
    for (start, end), called in pieces:
        if start < position or not called:
            continue  # a part of the call before it, or none
        prose.append(text[position:start])
        calls += called
        position = end
    prose.append(text[position:])
    return (_AROUND_CALLS.sub("", "".join(prose)).strip(), calls) if calls else (text, [])


def _said_in_channel(message: re.Match[str]) -> str:
    """Return what a message says to whoever asked: nothing in the channel `analysis`, a call where it has a recipient."""
    header = f"{message['to'] or ''} {message['header']}"
    if recipient := _RECIPIENT.search(header):
        return _written_call(recipient[1], message["body"])
    return "" if "analysis" in header.split() else message["body"].strip()


def _without_channel_names(text: str) -> str:
    messages = list(_LAST_CHANNEL.finditer(text))
    rest = text[messages[-1].end() :].strip() if messages else ""
    return _written_call(messages[-1]["name"], rest) if messages and messages[-1]["name"] else rest


def _written_call(name: str, arguments: str) -> str:
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments.strip()}, ensure_ascii=False)}</tool_call>"


def _without_tagged(text: str) -> str:
    """Return the text without what stands between tags, before a closing tag alone, and after one that is never closed."""
    kept: list[str] = []
    position, opened = 0, None
    for start, end, starts_line in _tags(text):
        if text[start:end] in _OPENINGS:
            if opened is None:
                opened = (start, starts_line)
                kept.append(text[position:start])
                position = start
        else:
            kept, opened = ([] if opened is None else kept), None
            position = end
    # A tag within a line that is never closed is spoken of.
    return "".join(kept) + ("" if opened is not None and opened[1] else text[position:])


def _tags(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yield start and end of each tag that is no part of code or a quotation, and whether it starts a line.

    Reasoning may leave a code block open, so a closing tag counts in one, too, unless the block itself holds the opening one.
    """
    fence, position, reasoning, opened_in_block = "", 0, False, False
    for line in text.splitlines(keepends=True):
        for tag in _TAG.finditer(line):
            before, after, is_opening = line[: tag.start()], line[tag.end() :], tag[0] in _OPENINGS
            if _QUOTED_UP_TO.search(before) and _QUOTED_FROM.match(after):
                continue
            if fence and not reasoning and (is_opening or opened_in_block):
                opened_in_block = is_opening
                continue
            yield position + tag.start(), position + tag.end(), not before.strip()
            fence, reasoning = "", is_opening
        position += len(line)
        found = None if reasoning or _TAG.search(line) else _FENCE.match(line.rstrip())
        if found is not None and not fence:
            fence, opened_in_block = found["fence"], False
        elif found is not None and found["fence"].startswith(fence) and not found["info"].strip():
            fence = ""


def _form(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL)


def _call(name: str, arguments: object) -> Call:
    return {"type": "function", "function": {"name": name, "arguments": arguments}}


def _named(match: re.Match[str]) -> Iterator[Call]:
    yield _call(match["name"], match["arguments"])


def _json(match: re.Match[str]) -> Iterator[Call]:
    """Yield the calls of an object, or of a list of them, that holds name and arguments."""
    try:
        value, _ = json.JSONDecoder(strict=False).raw_decode(match["arguments"])
    except (ValueError, RecursionError):
        yield _call("", match["arguments"])
        return
    for one in value if isinstance(value, list) else [value]:
        called = one.get("function", one) if isinstance(one, dict) else None
        if isinstance(called, dict) and isinstance(name := called.get("name", called.get("tool_name")), str):
            yield _call(name, called.get("arguments", called.get("parameters", "")))


def _marked(parameter: re.Pattern[str]) -> Callable[[re.Match[str]], Iterator[Call]]:
    """Return the reader of a form that marks each parameter by itself."""

    def read(match: re.Match[str]) -> Iterator[Call]:
        values = {found[1]: found[2] for found in parameter.finditer(match["arguments"])}
        yield _call(match["name"], values or match["arguments"].strip())

    return read


def _python(match: re.Match[str]) -> Iterator[Call]:
    """Yield the innermost calls of Python code, such as `print(default_api.sh(command="ls"))`."""
    try:
        tree = ast.parse(match["arguments"].strip())
    except (SyntaxError, ValueError, RecursionError):
        yield _call("", match["arguments"])
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and not any(isinstance(one, ast.Call) for one in node.args):
            named = {one.arg: one.value for one in node.keywords if one.arg}
            constants = {name: value.value for name, value in named.items() if isinstance(value, ast.Constant)}
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            yield _call(name, constants or match["arguments"])


CALLS: tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], Iterator[Call]]], ...] = (
    (
        "Qwen, Hermes; Mistral, Llama; Phi, Granite; Nemotron; Command A; InternLM",
        _form(
            r"(?:<tool_call>|\[TOOL_CALLS\]|<\|python_tag\|>|<\|tool_call\|>|<TOOLCALL>|<\|START_ACTION\|>|<\|action_start\|>\s*<\|plugin\|>)"
            r"\s*(?P<arguments>[\[{].*?)\s*(?:</tool_call>|<\|/tool_call\|>|</TOOLCALL>|<\|END_ACTION\|>|<\|action_end\|>|\Z)"
        ),
        _json,
    ),
    (
        "Qwen3-Coder, Seed-OSS, Llama",
        _form(r"<function=(?P<name>[\w.-]+)>(?P<arguments>.*?)</function>"),
        _marked(_form(r"<parameter=([\w.-]+)>\n?(.*?)\n?</parameter>")),
    ),
    (
        "GLM",
        _form(r"<tool_call>\s*(?P<name>[\w.-]+)\s*(?P<arguments><arg_key>.*?)\s*</tool_call>"),
        _marked(_form(r"<arg_key>\s*(.*?)\s*</arg_key>\s*<arg_value>\n?(.*?)\n?</arg_value>")),
    ),
    (
        "Kimi",
        _form(
            r"<\|tool_call_begin\|>\s*(?:functions\.)?(?P<name>[\w.-]+?)(?::\d+)?\s*<\|tool_call_argument_begin\|>"
            r"\s*(?P<arguments>.*?)\s*<\|tool_call_end\|>"
        ),
        _named,
    ),
    (
        "DeepSeek, Hunyuan",
        _form(
            r"(?:<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?|<tool_call>)(?P<name>[\w.-]+)(?:<｜tool▁sep｜>|\n)"
            r"(?:```json\n)?(?P<arguments>\{.*?)(?:\n```)?(?:<｜tool▁call▁end｜>|</tool_call>)"
        ),
        _named,
    ),
    (
        "Mistral's newer",
        _form(r"\[TOOL_CALLS\](?P<name>[\w.-]+)(?:\[CALL_ID\]\w+)?\[ARGS\](?P<arguments>.*?)(?=\[TOOL_|</s>|\Z)"),
        _named,
    ),
    (
        "MiniMax, Anthropic, DeepSeek's newer",
        _form(r"<(?:｜DSML｜)?invoke name=\"(?P<name>[\w.-]+)\">(?P<arguments>.*?)</(?:｜DSML｜)?invoke>"),
        _marked(_form(r"<(?:｜DSML｜)?parameter name=\"([\w.-]+)\"[^<>]*>\n?(.*?)\n?</(?:｜DSML｜)?parameter>")),
    ),
    (
        "Gemma, LFM",
        _form(r"(?:```tool_code\n|<\|tool_call_start\|>)(?P<arguments>.*?)(?:\n```|<\|tool_call_end\|>)"),
        _python,
    ),
    ("Llama 4", _form(r"\A\s*(?P<arguments>\[[\w.]+\(\w+=.*\)\])\s*\Z"), _python),
    (
        "Gemma 4, FunctionGemma",
        _form(
            r"(?:<\|tool_call>|<start_function_call>)call:(?P<name>[\w.-]+)(?P<arguments>\{.*?\})(?:<tool_call\|>|<end_function_call>)"
        ),
        _marked(_form(r"(\w+):(?:<\|\"\|>|<escape>)(.*?)(?:<\|\"\|>|<escape>)")),
    ),
)
"""Tool calls in text: families of models, the form in which they write one, and its reader."""
_AROUND_CALLS = re.compile(
    r"</?(?:\w+:)?tool_calls?>|</?(?:｜DSML｜)?function_calls>|<\|tool_calls_section_(?:begin|end)\|>|<｜tool▁calls▁(?:begin|end)｜>"
    r"|<｜end▁of▁sentence｜>|<\|eom_id\|>|</s>"
)
"""What stands around calls."""
