"""What models write around their answers, by convention, where their server leaves it: reasoning, channels, tool calls."""

import ast
import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

Call = dict[str, Any]
"""A tool call as an endpoint's `tool_calls` has it; its arguments are an object, or the text that was to be one."""

_REASONING = (
    r"(?i:(?:\w{1,20}[:_])?(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflection|analysis|scratch_?pad|cot)(?:_\w{7})?)"
)
"""In tags: DeepSeek, Qwen, GLM, Kimi, whose templates may open it in the prompt; EXAONE; with prefixes Seed-OSS, LongCat."""
_OPENING = re.compile(
    rf"<(?!\|(?i:end))[|｜]?{_REASONING}(?:_start)?[|｜]?>|\[(?:THINK|REASONING)\]|◁think▷|<\|channel>thought|<\|inner_prefix\|>"
    r"|<unused94>thought"
)
"""What opens reasoning: also Magistral, Command A, Kimi-VL, Gemma 4, MedGemma, Sky-T1, Apertus."""
_CLOSING = re.compile(
    rf"<(?:[|｜]?[/\\] ?|\|(?i:end_(?:of_)?)){_REASONING}[|｜]?\s?>|<\|{_REASONING}_end\|>|\[/(?:THINK|REASONING)\]|◁/think▷"
    r"|<channel\|>|<\|inner_suffix\|>|<unused95>"
)
_TAG = re.compile(f"{_OPENING.pattern}|{_CLOSING.pattern}")
_GRANITE = re.compile(r"\A\s*Here(?:'s| is) my thought process:.*?(?:Here(?:'s| is) my response:|\Z)", re.DOTALL)
_BEFORE = re.compile(
    r"\A\s*(?:<\|begin_of_(?:box|solution)\|>|<(?:final|(?:final_)?answer|response)>|<\|START_RESPONSE\|>"
    r"|<\|(?:im_start|start_header_id)\|>assistant(?:<\|end_header_id\|>)?)\s*"
)
_BEHIND = re.compile(
    r"(?:(?:<\|(?:end(?:_of_box|_of_solution|_of_text|oftext)?|END_RESPONSE|im_end|eot_id|return)\|>|<turn\|>|<end_of_turn>"
    r"|</(?:final|(?:final_)?answer|response|s)>|<｜end▁of▁sentence｜>)\s*)+\Z"
)
"""What stands before and behind an answer itself."""
_NEXT_TURN = re.compile(
    r"(?s)<\|(?:im_end|eot_id)\|>\s*<\|(?:im_start|start_header_id)\|>(?:user|system|tool|ipython).*"
)
"""What a model that does not stop writes for others."""
_FENCE = re.compile(r"^ {0,3}(?P<fence>`{3,}|~{3,})(?P<info>[^`\n]*)$")
REASONING_FIELDS = ("reasoning_content", "reasoning")
"""A message's fields beside its text: DeepSeek's, which most servers took over, and OpenRouter's, vLLM's and Ollama's."""
REASONING_PARTS = ("thinking", "reasoning", "reasoning_text")
"""Types of a text's parts: Mistral's, and others'."""
_QUOTED_UP_TO, _QUOTED_FROM = re.compile(r"([\"'`}]|\\n)\Z"), re.compile(r"[\"'`\\]")
_CHANNEL = re.compile(
    r"(?s)(?:<\|start\|>assistant|<\|channel\|>)(?P<header>[^<]*(?:<\|(?:channel|constrain)\|>[^<]*){0,2})<\|message\|>"
    r"(?P<body>.*?)(?=<\|(?:end|return|call|start|channel)\|>|\Z)"
)
_WITHOUT_TOKENS = re.compile(
    r"(?s)\A\s*(?:(?:assistant)?analysis(?:(?=[A-Z\"'`])|(?=.*assistant ?(?:final|commentary)))|commentary to=)"
)
"""How an answer in channels begins where a server dropped their tokens."""
_RECIPIENT = r"to=(?:functions\.)?(?P<name>[\w.-]+)"
_LAST_CHANNEL = re.compile(rf"(?:\A\s*|assistant ?)(?:final|commentary(?: {_RECIPIENT} ?(?:json|code)?))")


def answer_of(text: str) -> str:
    """Return a model's text without reasoning and other marks, empty if all was reasoning; calls in channels as `<tool_call>`."""
    text = _GRANITE.sub("", _NEXT_TURN.sub("", text.replace("\r\n", "\n")))
    if _TAG.search(text):
        text = _without_tagged(text)
    if _CHANNEL.search(text):
        return "\n\n".join(filter(None, map(_said_in_channel, _CHANNEL.finditer(text))))
    if _WITHOUT_TOKENS.match(text):
        return _without_channel_names(text)
    return _BEHIND.sub("", _BEFORE.sub("", text))


def calls_in(text: str) -> tuple[str, list[Call]]:
    """Return the prose of an answer, and the tool calls that stand in it as text, in order."""
    matches = ((match, read) for _, form, read in CALLS for match in form.finditer(text))
    pieces = sorted(((match.span(), list(read(match))) for match, read in matches), key=lambda piece: piece[0])
    prose, calls, position = list[str](), list[Call](), 0
    for (start, end), called in pieces:
        if start >= position and called:  # no part of the call before it
            prose.append(text[position:start])
            calls += called
            position = end
    prose.append(text[position:])
    return (_AROUND_CALLS.sub("", "".join(prose)).strip(), calls) if calls else (text, [])


def _said_in_channel(message: re.Match[str]) -> str:
    """Return what a message says to whoever asked: nothing in the channel `analysis`, a call where it has a recipient."""
    if recipient := re.search(rf"\b{_RECIPIENT}", message["header"]):
        return _written_call(recipient["name"], message["body"])
    return "" if re.search(r"\banalysis\b", message["header"]) else message["body"].strip()


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
        if _OPENING.fullmatch(text, start, end):
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
    """Yield start and end of each tag that is no part of code or a quotation, and whether it starts a line."""
    # Reasoning may leave a code block open, so a closing tag counts in one, too, unless the block itself holds the opening one.
    fence, position, reasoning, opened_in_block = "", 0, False, False
    for line in text.splitlines(keepends=True):
        for tag in _TAG.finditer(line):
            before, after, is_opening = line[: tag.start()], line[tag.end() :], bool(_OPENING.fullmatch(tag[0]))
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


def _call(name: str, arguments: object) -> Call:
    return {"type": "function", "function": {"name": name, "arguments": arguments}}


def _named(match: re.Match[str]) -> Iterator[Call]:
    yield _call(match["name"], match["arguments"])


def _values(text: str) -> Iterator[Any]:
    """Yield the JSON values of a text that holds nothing else; models forget the last braces, or write them as Python does."""
    decoder, text = json.JSONDecoder(strict=False), text.strip()
    while text:
        for end in ("", "}", "}}"):
            with suppress(ValueError, RecursionError):
                value, length = decoder.raw_decode(text + end)
                break
        else:
            value, length = ast.literal_eval(text), len(text)
        yield value
        text = text[length:].lstrip(" \n;,}")


def _json(match: re.Match[str]) -> Iterator[Call]:
    """Yield the calls of objects, or of a list of them, that hold name and arguments."""
    calls = list(_plain_json(match))
    yield from calls or [_call("", match["arguments"])]


def _plain_json(match: re.Match[str]) -> Iterator[Call]:
    """Yield them where nothing but their form says that they are calls."""
    try:
        values = list(_values(match["arguments"]))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for value in values:
        items = value.get("tool_calls", value.get("tool_uses", value)) if isinstance(value, dict) else value
        for item in items if isinstance(items, list) else [items]:
            fields = item if isinstance(item, dict) else {}
            called = fields["function"] if isinstance(fields.get("function"), dict) else fields
            name, arguments = (
                next((called[key] for key in keys if key in called), None) for keys in (_NAMES, _ARGUMENTS)
            )
            if isinstance(name, str) and arguments is not None:
                yield _call(name, arguments)


def _marked(parameter: str) -> Callable[[re.Match[str]], Iterator[Call]]:
    """Return the reader of a form that marks each parameter by itself."""

    def read(match: re.Match[str]) -> Iterator[Call]:
        values = {found[1]: found[2] for found in re.finditer(parameter, match["arguments"], re.DOTALL)}
        yield _call(match["name"], values or match["arguments"].strip())

    return read


def _python(match: re.Match[str]) -> Iterator[Call]:
    """Yield the innermost calls of Python code, such as `print(default_api.sh(command="ls"))`."""
    try:
        tree = ast.parse(match["arguments"].strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        yield _call("", match["arguments"])
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and not any(isinstance(one, ast.Call) for one in node.args):
            named = {one.arg: one.value for one in node.keywords if one.arg}
            constants = {name: value.value for name, value in named.items() if isinstance(value, ast.Constant)}
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            yield _call(name, constants or match["arguments"])


_NAMES = ("name", "tool_name", "tool", "action", "recipient_name", "function")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "action_input")
_PREFIX = r"(?:[｜|]{1,2}DSML[｜|]{1,2} ?|\w{1,20}[:_])?"
_TOOL = rf"{_PREFIX}(?i:tool_?calls?|function_?calls?|tools?|tool_uses?|tool_code)"
_CALLED, _PARAMETER, _ARG = rf"{_PREFIX}(?:function|invoke)", rf"{_PREFIX}param(?:eter)?", r"(?:\w{1,20}_)?arg_"
CALLS = tuple((family, re.compile(form, re.DOTALL), read) for family, read, form in (
    ("Qwen, Hermes; Mistral, Llama; Phi, Granite; Nemotron; Command A; InternLM; Jamba", _json,
     rf"(?:<{_TOOL}>|\[TOOL_CALLS\]|\[TOOL_REQUEST\]|<\|python_tag\|>|<\|(?:tool|function)_call\|>|functools(?=\[)"
     r"|<\|START_ACTION\|>|<\|tool_call_start\|>(?=\s*\[?\s*\{)|<\|action_start\|>\s*<\|plugin\|>)\s*(?:```(?:json)?\s*)?(?P<arguments>[\[{].*?)(?:```\s*)?"
     rf"(?:</{_TOOL}>|<\|/tool_call\|>|<\|tool_call_end\|>|\[END_TOOL_REQUEST\]|<\|END_ACTION\|>|<\|action_end\|>|<\|eom_id\|>|</s>|\Z)"),
    ("Qwen3-Coder, Seed-OSS, Llama; MiniMax, Anthropic, DeepSeek's newer",
     _marked(rf"<{_PARAMETER}(?: name)?= *\"?([\w.-]+)\"?[^<>]*>\n?(.*?)\n?(?:</{_PARAMETER}>|\Z)"),
     rf"<{_CALLED}(?: name)?= *\"?(?P<name>[\w.-]+)\"? *>(?P<arguments>[^<]*+(?:<(?!/?{_CALLED}|/{_TOOL}|\|eom_id)[^<]*+)*+)"
     rf"<(?:/(?:{_CALLED}|{_TOOL})|\|eom_id\|)>"),
    ("GLM, LongCat", _marked(rf"<{_ARG}key>\s*([\w.-]+)\s*</{_ARG}key>\s*<{_ARG}value>\n?(.*?)\n?</{_ARG}value>"),
     rf"<{_TOOL}>\s*(?P<name>[\w.-]+)\s*(?P<arguments><{_ARG}key>(?:(?!<{_TOOL}>).)*?)(?:</{_TOOL}>|(?<=arg_value>)\s*\Z)"),
    ("Kimi", _named,
     r"<\|tool_call_begin\|>\s*(?:functions\.)?(?P<name>[\w.-]+?)(?::\d+)?\s*<\|tool_call_argument_begin\|>"
     r"(?P<arguments>.*?)(?:<\|tool_call_end\|>|(?=<\|tool_)|\Z)"),
    ("DeepSeek, Hunyuan", _named,
     r"(?:<[|｜]tool[▁_]call[▁_]begin[|｜]>(?:function<[|｜]tool[▁_]sep[|｜]>)?|<tool_call>)(?P<name>[\w.-]+)"
     r"(?:<[|｜]tool[▁_]sep[|｜]>|\n)(?:```json\n)?(?P<arguments>\{(?:(?!<[|｜]?tool).)*?)(?:\n```\s*)?"
     r"(?:<[|｜]tool[▁_]call[▁_]end[|｜]>|</tool_call>)"),
    ("Mistral's newer", _named,
     r"\[TOOL_CALLS\](?P<name>[\w.-]+)(?:\[CALL_ID\]\w+)?(?:\[ARGS\])?(?P<arguments>\{.*?)(?=\[TOOL_|</s>|\Z)"),
    ("Qwen's older; ReAct", _named,
     r"(?:✿FUNCTION✿|(?:\A|(?<=\n))Action): *(?P<name>[\w.-]+)\s*\n(?:✿ARGS✿|Action Input): *(?P<arguments>\{.*?\})"
     r"\s*(?:\Z|(?=\n(?:✿|Observation)))"),
    ("Gemma, LFM; Llama; OLMo", _python,
     rf"(?:```tool_code\n|<\|tool_call_start\|>|<\|python_(?:tag|start)\|>|<{_TOOL}>\s*)(?P<arguments>\[?[\w.]+\(.*?)"
     rf"(?:\n```|<\|(?:tool_call_end|python_end|eom_id)\|>|</{_TOOL}>|\Z)"),
    ("Llama 4", _python, r"\A\s*(?P<arguments>\[[\w.]+\(\w+=.*\)\])\s*\Z"),
    ("Gemma 4, FunctionGemma", _marked(r"(\w+):(?:<\|\"\|>|<escape>)(.*?)(?:<\|\"\|>|<escape>)"),
     r"(?:<\|tool_call>|<start_function_call>)call:(?P<name>[\w.-]+)(?P<arguments>\{.*?\})(?:<tool_call\|>|<end_function_call>)"),
    ("Llama 3, without a mark", _plain_json,
     r"(?:```(?:json|tool_calls?|tool_code)?\n(?P<fenced>)|(?:\A|\n)[ \t]*)(?P<arguments>[\[{].*?)(?(fenced)\n```|\Z)"),
))  # fmt: skip
"""Tool calls in text: families of models, the form in which they write one, and its reader."""
_AROUND_CALLS = re.compile(rf"</?{_TOOL}>|<[|｜]tool[▁_]calls?[▁_](?:section[▁_])?(?:begin|end)[|｜]>|<\|eom_id\|>")
