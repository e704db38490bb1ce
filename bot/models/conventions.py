"""What models write around their answers, by convention, where their server leaves it: reasoning, channels, tool calls."""

import ast
import json
import re
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from bot.models.fences import FENCE, command_finder, end_of_block

Call = dict[str, Any]
"""A tool call as an endpoint's `tool_calls` has it; its arguments are an object, or the text that was to be one."""

_REASONING = r"(?:\w{1,20}[:_])?(?:think\w{0,3}|thoughts?|reason\w{0,3}|reflection|analysis|scratch\w*|cot)(?:_\w{7})?"
"""Names of tags around reasoning, whose templates may open it in the prompt: DeepSeek, Qwen, GLM, Kimi, Seed-OSS, and so on."""
_ANSWER = r"(?:answer|response|reply|solution|output|result|code|script|command|action|bash|shell|python|json)s?_?\d*"
_OF_ANSWER = re.compile(
    rf"(?:.*[_:.-])?(?:(?:tool|function)\w*|invoke|param(?:eter)?s?|calls?|key|value)|final|(?:final[_-]|execute_)?{_ANSWER}"
    r"|assistant|im|model|start_of_turn|te?xt|turn|header_id|box|div|main|nav|pre|span|section|article|body|html|table|t[rdh]|[uo]l|li|h\d"
)
"""Names of tags around an answer, a call or parts of either, of a template's tokens, and of HTML."""
_PREFIX = r"(?:[｜|]{1,2}DSML[｜|]{1,2} ?|\w{1,20}[:_])?"
_TOOL = rf"{_PREFIX}(?i:tool_?calls?|function_?calls?|tools?|tool_uses?|tool_code)"
_CALLED, _PARAMETER, _ARG = rf"{_PREFIX}(?:function|invoke)", rf"{_PREFIX}param(?:eter)?", r"(?:\w{1,20}_)?arg_"
_MARGIN = r"(?:[^\w\n`{<>\[\]\"']|[\d_]){0,12}"
_MARK = re.compile(
    rf"(?mi)(?P<quote>(?<=[\"'`}}])|(?<=\\n))?+(?:(?=(?P<code>{FENCE.pattern})) {{0,3}}[`~]+"
    r"|(?P<odd><\|channel>thought|<\|inner_prefix\|>|<(?:unused|ctrl)94>thought|<\|im_start\|>think\b"
    r"|\A\s*Here(?:'s| is) my thought process:|(?P<closing><channel\|>|<\|inner_suffix\|>|<(?:unused|ctrl)95>"
    r"|<\|im_start\|>answer\b|\nHere(?:'s| is) my response:))|(?<=[:,=(\[{])\s?\"(?:[^\"\\\n]|\\.)*+\""
    rf"|<(?P<argument>{_PARAMETER}|{_ARG}value)\b[^<>]*>(?s:.*?)</(?P=argument)>"
    r"|[<\[◁⟨«【＜][|｜]?(?P<slash>[/\\]\s?|end_(?:of_)?)?(?:begin_of_)?(?P<name>[^\W\d_][\w:.-]{1,40}?)"
    r"(?:_start|(?P<end>_end))?(?:\s[^<>\n]*)?[|｜]?[>\]▷⟩»】＞]"
    rf"|(?P<heading>^{_MARGIN}(?:my |the |next )?(?P<final>final |最终)?(?:answer|response|solution|command|script"
    rf"|final|action(?=\W*$)|答案|回答|命令|(?:done|end of) {_REASONING})(?:{_MARGIN}(?=$|[{{`])|\**:)))(?(quote)(?![\"'`\\]))"
)
"""Code, marks of Apertus, Gemma and Granite, arguments of calls, tags of any name, and headings over the answer itself."""
_MOST_BLOCKS = 200
_SECTION = re.compile(rf"(?mi)\A\s*{_MARGIN}(?:let me |my )?(?:{_REASONING}|思考\w*)(?: \w+){{0,2}}{_MARGIN}(?:[:.]|$)")
_BEFORE = re.compile(
    r"\A\s*(?:<\|begin_of_(?:box|solution)\|>|<(?:final|(?:final_)?answer|response)>|<\|START_RESPONSE\|>"
    r"|<\|(?:im_start|start_header_id)\|>assistant(?:<\|end_header_id\|>)?)\s*"
)
_BEHIND = re.compile(
    r"(?:(?:<\|(?:end(?:_of_box|_of_solution|_of_text|oftext)?|END_RESPONSE|im_end|eot_id|return)\|>|<turn\|>|<end_of_turn>"
    r"|</(?:final|(?:final_)?answer|response|s)>|<｜end▁of▁sentence｜>)\s*)+\Z"
    r"|(?:(?<=</tool_call>)\s*<tool_response>|(?<=\})\s*\nObservation:)(?s:.*)"
)
"""Tokens and tags before and after the answer itself; a call's result that the model made up."""
_NEXT_TURN = re.compile(r"(?s)<\|(?:im_end|eot_id)\|>\s*<\|(?:im_start|start_header_id)\|>(?:user|system|tool|ipy).*")
REASONING_FIELDS = ("reasoning_content", "reasoning")
"""A message's fields beside its text: DeepSeek's, which most servers took over, and OpenRouter's, vLLM's and Ollama's."""
REASONING_PARTS = ("thinking", "reasoning", "reasoning_text")
"""Types of a text's parts: Mistral's, and others'."""
_CHANNEL = re.compile(
    r"(?s)(?:<\|start\|>assistant|<\|channel\|>|\A\s*(?=to=))(?P<header>[^<]*(?:<\|(?:channel|constrain)\|>[^<]*){0,2})"
    r"(?:<\|message\|>|(?<=l\|>analysis)\s|(?<=l\|>final)\s)(?P<body>.*?)(?=<\|(?:end|return|call|start|channel)\|>|\Z)"
)
_WITHOUT_TOKENS = re.compile(
    r"(?s)\A\s*(?:(?:assistant)?analysis(?:(?=[A-Z\"'`])|(?=.*assistant ?(?:final|commentary)))|commentary to=)"
)
"""How an answer in channels begins where a server dropped their tokens."""
_RECIPIENT = r"to=(?:functions\.)?(?P<name>[\w.-]+)"
_LAST_CHANNEL = re.compile(rf"(?:\A\s*|assistant ?)(?:final|commentary(?: {_RECIPIENT} ?(?:json|code)?))")


def answer_of(text: str) -> str:
    """Return a model's text without reasoning and special tokens, perhaps empty; calls in channels become `<tool_call>`."""
    text = _NEXT_TURN.sub("", text.replace("\r\n", "\n"))
    if _WITHOUT_TOKENS.match(text):
        last = next(reversed([*_LAST_CHANNEL.finditer(text)]), None)
        text = _said(last["name"], text[last.end() :]) if last else ""
    text = _without_reasoning(text)
    if _CHANNEL.search(text):
        return "\n\n".join(filter(None, map(_said_in_channel, _CHANNEL.finditer(text))))
    return _BEHIND.sub("", _BEFORE.sub("", text))


def calls_in(text: str) -> tuple[str, list[Call]]:
    """Return the prose of an answer, and the tool calls within it, in order."""
    pieces = [(match.span(), list(read(match))) for _, form, read in CALLS for match in form.finditer(text)]
    prose, calls, position = list[str](), list[Call](), 0
    for (start, end), called in sorted(pieces, key=lambda piece: piece[0]):
        if start >= position and called:  # not within the previous call
            prose.append(text[position:start])
            calls += called
            position = end
    prose.append(text[position:])
    return (_AROUND_CALLS.sub("", "".join(prose)).strip(), calls) if calls else (text, [])


def _said_in_channel(message: re.Match[str]) -> str:
    recipient = re.search(rf"\b{_RECIPIENT}", message["header"])
    is_reasoning = recipient is None and re.search(r"\banalysis\b", message["header"])
    return "" if is_reasoning else _said(recipient and recipient["name"], message["body"])


def _said(recipient: str | None, body: str) -> str:
    """Return a message's text, as a call if it has a recipient."""
    call = json.dumps({"name": recipient, "arguments": body.strip()}, ensure_ascii=False)
    return f"<tool_call>{call}</tool_call>" if recipient else body.strip()


def _without_reasoning(text: str) -> str:
    """Return the text without reasoning: between its marks, before a lone end mark, and after a mark that is never closed.

    Tags of unknown names and headings count only outside of code, and if they separate something to run from the answer.
    """
    closings = deque(tag for tag in _MARK.finditer(text) if tag["slash"] or tag["end"] or tag["closing"])
    has_command = command_finder(text)
    kept, position, start, code_end, blocks, opened = list[tuple[int, int]](), 0, 0, 0, 0, set[str]()
    while mark := _MARK.search(text, start):
        ends, start, end = _ends(mark), mark.end(), None
        if mark.start() < code_end and not ends:
            start = code_end if ends is False else start
            continue
        while closings and closings[0].start() < start:
            closings.popleft()
        name, before = (mark["name"] or "").lower(), [*kept, (position, mark.start())]
        if mark["code"]:
            blocks += 1
            code_end = end_of_block(text, mark.start()) if blocks <= _MOST_BLOCKS else len(text)
        elif ends:  # in code, too, which reasoning may leave open
            end = start
        elif ends is False:  # within a line it may only be mentioned
            line_start = max(position, text.rfind("\n", 0, mark.start()) + 1)
            if_open = None if text[line_start : mark.start()].strip() else len(text)
            end = next((tag.end() for tag in closings if _ends(tag)), if_open)
        elif not (name or mark["heading"]) or _OF_ANSWER.fullmatch(name) or mark[0].startswith("[/"):
            continue
        elif name and not mark["slash"]:  # of a name that is not known
            closing = next((tag for tag in closings if (tag["name"] or "").lower() == name), None)
            if closing is None and re.fullmatch(r"<\w{4,}>", mark[0]) and not any(text[a:b].strip() for a, b in before):
                end = len(text)  # a tag that opens the answer was never closed
            elif closing and has_command(start, closing.start()):
                is_last = not has_command(closing.end(), len(text))
                end = None if is_last and re.fullmatch(rf"details|.*[_:.-]{_ANSWER}", name) else closing.end()
            opened |= {name} if end is None else set()
        elif name not in opened and any(has_command(a, b) for a, b in before):
            is_followed = has_command(start, len(text))
            is_section = _SECTION.match(text) and (is_followed or text[start : start + 1] in "\n")
            is_end = re.compile(r"\S").search(text, start) if name else is_section or (is_followed and mark["final"])
            end = start if is_end else None
        if end is not None:
            kept, position, start, code_end = [] if end == start else before, end, end, 0
    return "".join(text[a:b] for a, b in (*kept, (position, len(text))))


def _ends(mark: re.Match[str]) -> bool | None:
    """Return whether a tag ends reasoning (or else starts it); None: another mark."""
    is_named = re.fullmatch(_REASONING, (name := mark["name"] or "").lower()) and (mark[0][0] != "[" or name.isupper())
    return bool(mark["closing"] or mark["slash"] or mark["end"]) if is_named or mark["odd"] else None


def _call(name: str, arguments: object) -> Call:
    return {"type": "function", "function": {"name": name, "arguments": arguments}}


def _values(text: str) -> Iterator[Any]:
    """Yield the JSON values of a text that holds nothing else; models forget the last braces, or write them as Python does."""
    decoder, text = json.JSONDecoder(strict=False), text.strip()
    while text:
        for end in ("", "}", "}}"):
            with suppress(ValueError, RecursionError):
                value, length = decoder.raw_decode(text + end)
                break
        else:
            value, length = json.loads(json.dumps(ast.literal_eval(text))), len(text)
        yield value
        text = text[length:].lstrip(" \n;,}")


def _json(match: re.Match[str], is_marked: bool = True) -> Iterator[Call]:
    """Yield the calls of objects, or of a list of them, that hold name and arguments; if marked as such, one unread."""
    values, calls = list[Any](), list[Call]()
    with suppress(SyntaxError, TypeError, ValueError, RecursionError, MemoryError):
        values += list(_values(match["arguments"]))
    for value in values:
        items = value.get("tool_calls", value.get("tool_uses", value)) if isinstance(value, dict) else value
        for item in items if isinstance(items, list) else [items]:
            fields = item if isinstance(item, dict) else {}
            called = fields["function"] if isinstance(fields.get("function"), dict) else fields
            name, arguments = (next((called[k] for k in keys if k in called), None) for keys in (_NAMES, _ARGUMENTS))
            if is_marked and len(called) == 1:
                [(name, arguments)] = called.items()
            if isinstance(name, str) and arguments is not None:
                calls.append(_call(name, arguments))
    yield from calls or [_call("", match["arguments"])] * is_marked


def _marked(parameter: str, match: re.Match[str]) -> Iterator[Call]:
    """Yield the call of a form that marks each parameter by itself."""
    values = {found[1]: found[2] for found in re.finditer(parameter, match["arguments"], re.DOTALL)}
    yield _call(match["name"], values or match["arguments"].strip())


def _python(match: re.Match[str]) -> Iterator[Call]:
    """Yield the innermost calls of Python code, such as `print(default_api.sh(command="ls"))`."""
    try:
        tree = ast.parse(match["arguments"].strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        yield _call("", match["arguments"])
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and not any(isinstance(one, ast.Call) for one in node.args):
            constants = {k.arg: k.value.value for k in node.keywords if k.arg and isinstance(k.value, ast.Constant)}
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            yield _call(name, constants or match["arguments"])


_named = partial(_marked, "(?!)")
_NAMES = ("name", "tool_name", "tool", "action", "recipient_name", "function")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "action_input")
CALLS = tuple((family, re.compile(form, re.DOTALL), read) for family, read, form in (
    ("Qwen, Hermes; Mistral, Llama; Phi, Granite; Nemotron; Command A; InternLM; Jamba; Apertus", _json,
     rf"(?:<{_TOOL}>|\[TOOL_CALLS\]|\[TOOL_REQUEST\]|<\|python_tag\|>|<\|(?:tool|function)_call\|>|functools(?=\[)"
     r"|<\|START_ACTION\|>|<\|tools_prefix\|>|<\|tool_call_start\|>(?=\s*\[?\s*\{)|<\|action_start\|>\s*<\|plugin\|>)\s*(?:```(?:json)?\s*)?(?P<arguments>[\[{].*?)(?:```\s*)?"
     rf"(?:</{_TOOL}>|<\|/tool_call\|>|<\|tool_call_end\|>|\[END_TOOL_REQUEST\]|<\|END_ACTION\|>|<\|tools_suffix\|>|<\|action_end\|>|<\|eom_id\|>|</s>|\Z)"),
    ("Qwen3-Coder, Seed-OSS, Llama; MiniMax, Anthropic, DeepSeek's newer",
     partial(_marked, rf"<{_PARAMETER}(?: name)?= *\"?([\w.-]+)\"?[^<>]*>\n?(.*?)\n?(?:</{_PARAMETER}>|\Z)"),
     rf"<{_CALLED}(?: name)?= *\"?(?P<name>[\w.-]+)\"? *>(?P<arguments>[^<]*+(?:<(?!/?{_CALLED}|/{_TOOL}|\|eom_id)[^<]*+)*+)"
     rf"<(?:/(?:{_CALLED}|{_TOOL})|\|eom_id\|)>"),
    ("GLM, LongCat", partial(_marked, rf"<{_ARG}key>\s*([\w.-]+)\s*</{_ARG}key>\s*<{_ARG}value>\n?(.*?)\n?</{_ARG}value>"),
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
    ("Gemma 4, FunctionGemma", partial(_marked, r"(\w+):(?:<\|\"\|>|<escape>)(.*?)(?:<\|\"\|>|<escape>)"),
     r"(?:<\|tool_call>|<start_function_call>)call:(?P<name>[\w.-]+)(?P<arguments>\{.*?\})(?:<tool_call\|>|<end_function_call>)"),
    ("Llama 3, without a mark", partial(_json, is_marked=False),
     r"(?:```(?:json|tool_calls?|tool_code)?\n(?P<fenced>)|(?:\A|\n)[ \t]*)(?P<arguments>[\[{].*?)(?(fenced)\n```|\Z)"),
))  # fmt: skip
"""Tool calls in text: families of models, the form in which they write one, and its reader."""
_AROUND_CALLS = re.compile(rf"</?{_TOOL}>|<[|｜]tool[▁_]calls?[▁_](?:section[▁_])?(?:begin|end)[|｜]>|<\|eom_id\|>")
