"""What models write around their answers, by convention, where their server leaves it: reasoning, channels, tool calls."""

import ast
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from bot.models.fences import FENCE, command_finder, end_of_block, without_retracted_blocks

Call = dict[str, Any]
"""A tool call as an endpoint's `tool_calls` has it; its arguments are an object, or the text that was to be one."""

_REASONING = r"(?:\w{1,20}[:_])?(?:think\w{0,3}|thoughts?|reason\w{0,3}|reflection|analysis|scratch\w*|cot)(?:_\w{7})?"
"""Names of tags around reasoning, whose templates may open it in the prompt: DeepSeek, Qwen, GLM, Kimi, Seed-OSS, and so on."""
_ANSWER = r"(?:answer|response|reply|solution|output|result|code|script|command|action|bash|shell|python|json)s?_?\d*"
_OF_ANSWER = re.compile(
    rf"(?:.*[_:.-])?(?:(?:tool|function)\w*|invoke|param(?:eter)?s?|calls?|key|value)|final|(?:final[_-]|execute_)?{_ANSWER}"
    r"|assistant|im|model|start_of_turn|te?xt|turn|header_id|box|div|main|nav|pre|span|section|article|body|html|table|t[rdh]|[uo]l|li|h\w|br"
)
"""Names of tags around an answer, a call or parts of either, of a template's tokens, and of HTML."""
_PREFIX = r"(?:[｜|]{1,2}DSML[｜|]{1,2} ?|\w{1,20}[:_])?"
_TOOL = rf"{_PREFIX}(?i:tool_?calls?|function_?calls?|tools?|tool_uses?|tool_code)"
_CALLED, _PARAMETER, _ARG = rf"{_PREFIX}(?:function|invoke)", rf"{_PREFIX}param(?:eter)?", r"(?:\w{1,20}_)?arg_"
_MARGIN = r"(?:<!--|-->|[^\w\n`{<>\"'/]|[\d_]){0,12}"
_MARK = re.compile(
    rf"(?mi)(?P<quote>(?<=[\"'`}}])|(?<=\\n))?+(?:(?=(?P<code>{FENCE.pattern})) {{0,3}}[`~]+"
    r"|(?P<odd><\|channel>thought|<\|inner_prefix\|>|<(?:unused|ctrl)94>thought|<\|im_start\|>think\b"
    r"|\A\s*Here(?:'s| is) my thought process:|(?P<closing><channel\|>|<\|inner_suffix\|>|<(?:unused|ctrl)95>"
    r"|<\|im_start\|>answer\b|\nHere(?:'s| is) my response:))|(?<=[:,=(\[{])\s?\"(?:[^\"\\\n]|\\.)*+\""
    rf"|<(?P<argument>{_PARAMETER}|{_ARG}value)\b[^<>]*>(?s:.*?)</(?P=argument)>"
    r"|(?P<hidden>(?:<|\{+)!--(?! ?[^<>\n]{,60}-->)|\{#|^/\*|^:::(?=\W*think|\W*reason))|(?P<shown>--[>}]+|#\}|\*/|^:::)"
    r"|(?P<line>^)?(?:(?P<bracket>\\?[<\[{(◁⟨⟦«【＜]|&(?:lt|#60);){1,2}+(?:(?:!--|[%#]) ?|[|｜])?"
    r"(?P<slash>(?<=\\end\{)|[/\\]\s?|end[_ ▁](?:of[_ ▁])?)?(?:(?:begin|start)[_ ▁](?:of[_ ▁])?)?(?P<name>[^\W\d_][\w:.-]{1,40}?)"
    r"(?:[_ ](?:start|begin)|(?P<end>[_ ]end|\s?/))?(?:\s[^<>\n]{,200}?)?(?: ?(?:--|%)|[|｜])?(?:\\?[>\]})▷⟩⟧»】＞]|&\S{2,3};)+:?"
    rf"|(?(line){_MARGIN}(?:(?!\d)[\w'-]++ ?){{1,5}}+{_MARGIN}(?:(?<!>)(?=$|[{{`])|(?<=:))|(?!))))(?(quote)(?![\"'`\\]))"
)
"""Code, marks of Apertus, Gemma and Granite, arguments of calls, tags of any name, comments, and lines that may head others."""
_MOST_BLOCKS = 200
_SECTION = re.compile(
    rf"(?mi)^\s*(?P<style>{_MARGIN})(?:[\w'-]+:?[ _]){{0,3}}(?:{_REASONING}|思考\w*|rationale|deliberation|monologue"
    rf"|brainstorm\w*|draft|plan)(?: \w+){{0,2}}{_MARGIN}(?:[:.]|$)"
)
_HEADING = re.compile(
    rf"(?i)[\W\d_]*(?:step[\W\d]+)?(?:(?:my|the|actual|corrected|revised|better|new)[ _])?(?P<final>final[ _]?|最终)?"
    rf"(?:(?:\w+_)?(?:answer|response|solution|command|script|code)|final|revised|action(?=\W*$)|答案|回答|命令"
    rf"|(?:done|end(?: of)?)[ _]{_REASONING}|(?<=\[)(?:output|result)(?=\]))[\W\d_]*"
)
"""Lines over reasoning, and over the answer itself."""
_BEFORE = re.compile(
    r"\A\s*(?:<\|begin_of_(?:box|solution)\|>|<(?:final|(?:final_)?answer|response)>|<\|START_RESPONSE\|>|<\|(?:im_start|start_header_id)\|>assistant(?:<\|end_header_id\|>)?)\s*"
)
_BEHIND = re.compile(
    r"(?:(?:<\|(?:end(?:_of_box|_of_solution|_of_text|oftext)?|END_RESPONSE|im_end|eot_id|return)\|>|<turn\|>|<end_of_turn>"
    r"|</(?:final|(?:final_)?answer|response|s)>|<｜end▁of▁sentence｜>)\s*)+\Z"
    r"|(?:(?<=</tool_call>)\s*<tool_response>|(?<=\})\s*\nObservation:)(?s:.*)"
)
"""Tokens and tags before and after the answer itself; a call's result that the model made up."""
_NEXT_TURN = re.compile(r"(?s)<\|(?:im_end|eot_id)\|>\s*<\|(?:im_start|start_header_id)\|>(?:user|system|tool|ipy).*")
REASONING_FIELDS = ("reasoning_content", "reasoning")
REASONING_PARTS = ("thinking", "reasoning", "reasoning_text")
"""Fields beside a message's text (DeepSeek's; OpenRouter's, vLLM's, Ollama's), and types of its parts (Mistral's and others')."""
_CHANNEL = re.compile(
    r"(?s)(?:<\|start\|>assistant|<\|channel\|>|\A\s*(?=to=))(?P<header>[^<]*(?:<\|(?:channel|constrain)\|>[^<]*){0,2})"
    r"(?:<\|message\|>|(?<=l\|>analysis)\s|(?<=l\|>final)\s)(?P<body>.*?)(?=<\|(?:end|return|call|start|channel)\|>|\Z)"
)
_TOKENLESS = re.compile(r"(?s)\A\s*(?:(?:assistant)?analysis(?=[A-Z\"'`]|.*assistant ?(?:final|comm))|commentary to=)")
"""How an answer in channels begins where a server dropped their tokens."""
_LAST_CHANNEL = re.compile(r"(?:\A\s*|assistant ?)(?:final|commentary(?: to=[\w.-]+ ?(?:json|code)?))")


def answer_of(text: str) -> str:
    """Return a model's text without reasoning and special tokens, perhaps empty; calls in channels become `<tool_call>`."""
    text = _NEXT_TURN.sub("", text.replace("\r\n", "\n"))
    if _TOKENLESS.match(text):
        last = next(reversed([*_LAST_CHANNEL.finditer(text)]), None)
        text = f"<|channel|>{last[0]}<|message|>{text[last.end() :]}" if last else ""
    text = _without_reasoning(text)
    if _CHANNEL.search(text):
        text = "\n\n".join(filter(None, map(_said, _CHANNEL.finditer(text))))
    return without_retracted_blocks(_BEHIND.sub("", _BEFORE.sub("", text)))


def calls_in(text: str) -> tuple[str, list[Call]]:
    """Return the prose of an answer, and the tool calls within it, in order."""
    pieces = [(match.span(), list(read(match))) for _, form, read in CALLS for match in form.finditer(text)]
    prose, calls, position = "", list[Call](), 0
    for (start, end), called in sorted(pieces, key=lambda piece: piece[0]):
        if start >= position and called:  # not within the previous call
            prose, calls, position = prose + text[position:start], calls + called, end
    return (_AROUND_CALLS.sub("", prose + text[position:]).strip(), calls) if calls else (text, [])


def _said(message: re.Match[str]) -> str:
    """Return the text of a message in a channel, as a call if it has a recipient; empty if it is reasoning."""
    recipient = re.search(r"\bto=(?:functions\.)?([\w.-]+)", message["header"])
    if recipient is None:
        return "" if re.search(r"\banalysis\b", message["header"]) else message["body"].strip()
    call = json.dumps({"name": recipient[1], "arguments": message["body"].strip()}, ensure_ascii=False)
    return f"<tool_call>{call}</tool_call>"


def _without_reasoning(text: str) -> str:
    """Return the text without reasoning: between its marks, before a lone end mark, and after a mark that is never closed.

    Other tags, comments and headings count only outside of code, and if they separate something to run from the answer.
    """
    marks, has_command = [*_MARK.finditer(text)], command_finder(text)
    section = next((line for line in _SECTION.finditer(text) if not has_command(0, line.start())), None)
    nexts, nearest = dict[int, re.Match[str] | None](), dict[str, re.Match[str]]()
    for mark in reversed(marks):
        name = _name(mark)
        nexts[mark.start()] = nearest.get("CODE" if mark["code"] else name, nearest.get("HEADING"))
        nearest |= {name: mark} if _closes(mark) else {"HEADING": mark} if _HEADING.fullmatch(mark[0]) else {}
        nearest |= {"CODE": mark} if name == "REASONING" else {}
    kept, has_kept, position, start, blocks, opened = "", False, 0, 0, 0, set[str]()
    for mark in marks:
        if mark.start() < start:
            continue
        name, following, start, end = _name(mark), nexts[mark.start()], mark.end(), None
        closing = following if following and _name(following) == name else None
        line = mark[0] if mark["line"] == "" and (_HEADING.fullmatch(mark[0]) or not _SECTION.match(mark[0])) else ""
        before, heading, is_answer = text[position : mark.start()], _HEADING.fullmatch(line), _OF_ANSWER.fullmatch(name)
        has_one, has_more = has_kept or has_command(position, mark.start()), has_command(start, len(text))
        if mark["code"]:
            blocks += 1
            start = end_of_block(text, mark.start()) if blocks <= _MOST_BLOCKS else len(text)
            if following and _closes(following) and following.start() < start:  # reasoning may leave it open
                start = end = following.end()
        elif name == "REASONING":  # within a line it may only be mentioned
            is_open = not (before.rpartition("\n")[2].strip() or (following and not re.match(r"<\W?\w", mark[0])))
            end = start if _closes(mark) else closing.end() if closing else len(text) if is_open else None
        elif name and not (is_answer or _closes(mark)):
            if closing and has_command(start, closing.start()):
                is_last = not (mark["hidden"] or has_command(closing.end(), len(text)))
                is_kept = is_last and ((position and not has_one) or re.fullmatch(rf"details|.*[_:.-]{_ANSWER}", name))
                end = None if is_kept else closing.end()
            elif closing is None and re.fullmatch(r"<\w{4,}>", mark[0]) and not (kept + before).strip():
                end = len(text)  # a tag that opens the answer was never closed
            opened |= {name} if closing and end is None else set()
        is_next = section and mark.start() >= section.end() and (heading or line.startswith(section["style"] or "\n"))
        section = None if is_next else section
        if end is None and has_one and name not in opened:
            if is_next or (heading and heading["final"]):
                end = start if has_more or (heading and not name and text[start : start + 1] in "\n") else None
            elif mark["slash"] is not None and not (is_answer or mark["bracket"] in "[{(") and text[start:].strip():
                end = start
        if end is not None:
            kept, has_kept = ("", False) if end == start else (kept + before, has_one)
            position = start = end
    return kept + text[position:]


def _name(mark: re.Match[str]) -> str:
    """Return the name that a mark shares with the one that closes it."""
    name, is_tag = mark["name"] or "", (mark["bracket"] or "[") not in "[{("
    is_known = mark["odd"] or (re.fullmatch(_REASONING, name.lower()) and (is_tag or name.isupper()))
    return "REASONING" if is_known else "COMMENT" if mark["hidden"] or mark["shown"] else name.lower()


def _closes(mark: re.Match[str]) -> bool:
    return bool(mark["closing"] or mark["slash"] is not None or mark["end"] or mark["shown"])


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


def _marked(match: re.Match[str], form: str = "(?!)") -> Iterator[Call]:
    """Yield the call of a form that names it outside of its arguments, and may mark each parameter by itself."""
    values = {found[1]: found[2] for found in re.finditer(form, match["arguments"], re.DOTALL)}
    yield _call(match["name"], values or match["arguments"].strip())


def _python(match: re.Match[str]) -> Iterator[Call]:
    """Yield the innermost calls of Python code, such as `print(default_api.sh(command="ls"))`."""
    calls = list[Call]()
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        for node in ast.walk(ast.parse(match["arguments"].strip())):
            if isinstance(node, ast.Call) and not any(isinstance(one, ast.Call) for one in node.args):
                constants = {k.arg: k.value.value for k in node.keywords if k.arg and isinstance(k.value, ast.Constant)}
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                calls.append(_call(name, constants or match["arguments"]))
    yield from calls or [_call("", match["arguments"])]


_NAMES = ("name", "tool_name", "tool", "action", "recipient_name", "function")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "action_input")
CALLS = tuple((family, re.compile(form, re.DOTALL), read) for family, read, form in (
    ("Qwen, Hermes; Mistral, Llama; Phi, Granite; Nemotron; Command A; InternLM; Jamba; Apertus", _json,
     rf"(?:<{_TOOL}>|\[TOOL_CALLS\]|\[TOOL_REQUEST\]|<\|python_tag\|>|<\|(?:tool|function)_call\|>|functools(?=\[)"
     r"|<\|START_ACTION\|>|<\|tools_prefix\|>|<\|tool_call_start\|>(?=\s*\[?\s*\{)|<\|action_start\|>\s*<\|plugin\|>)\s*(?:```(?:json)?\s*)?(?P<arguments>[\[{].*?)(?:```\s*)?"
     rf"(?:</{_TOOL}>|<\|/tool_call\|>|<\|tool_call_end\|>|\[END_TOOL_REQUEST\]|<\|END_ACTION\|>|<\|tools_suffix\|>|<\|action_end\|>|<\|eom_id\|>|</s>|\Z)"),
    ("Qwen3-Coder, Seed-OSS, Llama; MiniMax, Anthropic, newer DeepSeek models",
     partial(_marked, form=rf"<{_PARAMETER}(?: name)?= *\"?([\w.-]+)\"?[^<>]*>\n?(.*?)\n?(?:</{_PARAMETER}>|\Z)"),
     rf"<{_CALLED}(?: name)?= *\"?(?P<name>[\w.-]+)\"? *>(?P<arguments>[^<]*+(?:<(?!/?{_CALLED}|/{_TOOL}|\|eom_id)[^<]*+)*+)"
     rf"<(?:/(?:{_CALLED}|{_TOOL})|\|eom_id\|)>"),
    ("GLM, LongCat", partial(_marked, form=rf"<{_ARG}key>\s*([\w.-]+)\s*</{_ARG}key>\s*<{_ARG}value>\n?(.*?)\n?</{_ARG}value>"),
     rf"<{_TOOL}>\s*(?P<name>[\w.-]+)\s*(?P<arguments><{_ARG}key>(?:(?!<{_TOOL}>).)*?)(?:</{_TOOL}>|(?<=arg_value>)\s*\Z)"),
    ("Kimi; DeepSeek, Hunyuan; newer Mistral models", _marked,
     r"(?:<\|tool_call_begin\|>\s*(?:functions\.)?|<[|｜]tool[▁_]call[▁_]begin[|｜]>(?:function<[|｜]tool[▁_]sep[|｜]>)?|<tool_call>|\[TOOL_CALLS\])"
     r"(?P<name>[\w.-]+?)(?::\d+)?\s*(?:<\|tool_call_argument_begin\|>|<[|｜]tool[▁_]sep[|｜]>|\n|(?:\[CALL_ID\]\w+)?(?:\[ARGS\])?(?=\{))"
     r"(?:```json\n)?\s*(?P<arguments>\{(?:(?!<[|｜]?tool|\[TOOL_).)*?)(?:\n```\s*)?(?:<[|｜]tool[▁_]call[▁_]end[|｜]>|</(?:tool_call|s)>|(?=<\|tool_|\[TOOL_)|\Z)"),
    ("older Qwen models; ReAct", _marked,
     r"(?:✿FUNCTION✿|(?:\A|(?<=\n))Action): *(?P<name>[\w.-]+)\s*\n(?:✿ARGS✿|Action Input): *(?P<arguments>\{.*?\})"
     r"\s*(?:\Z|(?=\n(?:✿|Observation)))"),
    ("Gemma, LFM; Llama; OLMo", _python,
     rf"(?:```tool_code\n|<\|tool_call_start\|>|<\|python_(?:tag|start)\|>|<{_TOOL}>\s*|(?=\A\s*\[[\w.]+\(\w+=.*\)\]\s*\Z)\s*)"
     rf"(?P<arguments>\[?[\w.]+\(.*?)(?:\n```|<\|(?:tool_call_end|python_end|eom_id)\|>|</{_TOOL}>|\Z)"),
    ("Gemma 4, FunctionGemma", partial(_marked, form=r"(\w+):(?:<\|\"\|>|<escape>)(.*?)(?:<\|\"\|>|<escape>)"),
     r"(?:<\|tool_call>|<start_function_call>)call:(?P<name>[\w.-]+)(?P<arguments>\{.*?\})(?:<tool_call\|>|<end_function_call>)"),
    ("Llama 3, without a mark", partial(_json, is_marked=False),
     r"(?:```(?:json|tool_calls?|tool_code)?\n(?P<fenced>)|(?:\A|\n)[ \t]*)(?P<arguments>[\[{].*?)(?(fenced)\n```|\Z)"),
))  # fmt: skip
"""Tool calls in text: families of models, the form in which they write one, and its reader."""
_AROUND_CALLS = re.compile(rf"</?{_TOOL}>|<[|｜]tool[▁_]calls?[▁_](?:section[▁_])?(?:begin|end)[|｜]>|<\|eom_id\|>")
