"""A notebook's cell as plain Python: IPython's own syntax becomes calls, and the calls become what they would run.

`ipython_calls` gives what `IPython.core.inputtransformer2` gives (its tests compare the two), in time linear in the length:
IPython itself tokenizes a cell anew for each magic, which takes minutes for a hostile one.
"""

import ast
import re
from dataclasses import dataclass, field
from textwrap import dedent, indent

_TOKEN = re.compile(
    r"""
    (?:\"\"\"(?:[^"\\]+|\\.|"(?!\"\"))*+(?:\"\"\"|\Z)|'''(?:[^'\\]+|\\.|'(?!''))*+(?:'''|\Z))
    |"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+'
    |\#[^\n]*+|\\\n|\n|[ \t\f]++|\w++|[-+*/%&|^@:!<>=]?=|[()\[\]{}]|.
    """,
    re.VERBOSE | re.DOTALL,
)
_BLANK = re.compile(r"(?:[ \t\f]|\\\n)*+")
_CONTINUED = re.compile(r"(?:[^\n]*\\\n)*[^\n]*\n?")
_HELP = re.compile(r"(%{0,2}(?!\d)[\w*]+(?:\.(?!\d)[\w*]+|\[-?[0-9]+\])*)(\?\??)$")
_MAGIC_VALUE, _SHELL_VALUE = re.compile(r"[ \t]*(?=%[ \t]*\w)"), re.compile(r"[ \t]*(?=!)")
_CLASSIC_PROMPT = re.compile(r"^[ \t]*(?:>>>|\.\.\.)[ \t]?", re.MULTILINE)
_IPYTHON_PROMPT = re.compile(r"^(?:(?:(?:\[(?:nav|ins)\])? )?In \[\d+\]: |\s*\.{3,}: ?)", re.MULTILINE)
_OPERATOR = re.compile(r"//|[!%/]=")
_TIMERS = ("time", "timeit", "prun", "memit", "lprun", "mprun")
"""Magics whose argument, or cell, is Python all the same."""
_RUNNERS = ("time", "prun", "debug", "cache", "notify", "heat", "snakeviz", "pyinstrument", "scalene", "wandb")
"""Magics that run their cell as it is, those of packages too."""
_OPTIONS = re.compile(r"(?:(?:-[nrpslTDfm]\s*\S+|--?[a-zA-Z][\w-]*)\s+)*")
_AUTOMAGIC = re.compile(r"\s*((?:pip|conda|ls|cd|pwd|cat|mkdir|cp|mv|rm|who|whos|matplotlib|env)\b[^\n]*)\s*")
"""What IPython takes for a magic without its sign, where it is all of a cell and no Python."""
_SHELLS = ("bash", "sh", "!", "sx", "system", "script")
_PYLAB = "import numpy, numpy as np; from matplotlib import pylab, mlab, pyplot; plt = pyplot; from numpy import *"
_FAULTS = (SyntaxError, ValueError, RecursionError, MemoryError)


def ipython_calls(cell: str) -> str:
    """Return a cell with `get_ipython()` calls in place of magics, shell commands and help, as IPython runs it."""
    text = _without_prompts(dedent(re.sub(r"\A(?:[ \t]*\n)+", "", cell if cell.endswith("\n") else f"{cell}\n")))
    if text.startswith("%%") and not re.match(r"%%\w+\?", text):
        head, _, body = text.partition("\n")
        name, _, line = head[2:].rstrip().partition(" ")
        return f"get_ipython().run_cell_magic({name!r}, {line!r}, {body!r})\n"
    statements, position = list[str](), 0
    while position < len(text):
        statement, position = _statement(text, position)
        statements.append(statement)
    return "".join(statements)


def _without_prompts(text: str) -> str:
    if re.match(r"[ \t]*>>>", text):
        return dedent(_CLASSIC_PROMPT.sub("", text))
    return _IPYTHON_PROMPT.sub("", text) if _IPYTHON_PROMPT.match(text) else text


def _statement(text: str, position: int) -> tuple[str, int]:
    """Return the logical line that begins at a place, as Python, and where the next one begins."""
    begin = _BLANK.match(text, position).end()  # type: ignore[union-attr]  # it matches everywhere
    prefix = text[position:begin]
    escaped = text[begin : begin + 1] in ("!", "?", "%", ",", ";", "/") and not _OPERATOR.match(text, begin)
    limit = _continued_end(text, begin) if escaped else len(text)
    depth, last, last_at, assigned, end = 0, "", begin, False, limit
    for token in _TOKEN.finditer(text, begin, limit):
        piece = token[0]
        if piece == "\n" and depth == 0:
            end = token.end()
            break
        if piece in "([{":
            depth += 1
        elif piece in ")]}":
            depth = max(0, depth - 1)
        elif piece == "=" and depth == 0 and not assigned and not escaped:
            assigned = True
            for value, is_magic in ((_MAGIC_VALUE, True), (_SHELL_VALUE, False)):
                if match := value.match(text, token.end()):
                    end = _continued_end(text, match.end())
                    command = _joined(text[match.end() : end])[1:]
                    call = _line_magic(command) if is_magic else f"get_ipython().getoutput({command!r})"
                    return f"{text[position : match.end()]}{call}\n", end
        if not piece.isspace() and piece != "\\\n":
            last, last_at = piece, token.start()
    if last == "?" and last_at > begin and (match := _HELP.search(text[begin : last_at + 1])):
        method = "pinfo2" if match[2] == "??" else "psearch" if "*" in match[1] else "pinfo"
        return f"{prefix}get_ipython().run_line_magic({method!r}, {match[1]!r})\n", end
    if escaped:
        return f"{prefix}{_command(_joined(text[begin:limit]))}\n", limit
    return text[position:end], end


def _continued_end(text: str, position: int) -> int:
    return _CONTINUED.match(text, position).end()  # type: ignore[union-attr]  # it matches everywhere


def _joined(lines: str) -> str:
    """Return a command of several lines, each but the last of which ends in a backslash, as one."""
    *first, last = lines.rstrip("\n").split("\n")
    return " ".join([*(line.rstrip()[:-1] for line in first), last.rstrip()])


def _line_magic(content: str) -> str:
    name, _, arguments = content.partition(" ")
    return f"get_ipython().run_line_magic({name!r}, {arguments!r})"


def _command(line: str) -> str:
    """Return the call for a line that begins with one of IPython's signs."""
    escape = line[:2] if line[:2] in ("!!", "??") else line[:1]
    content = line[len(escape) :]
    name, _, arguments = content.partition(" ")
    match escape:
        case "!" | "!!":
            return f"get_ipython().{'system' if escape == '!' else 'getoutput'}({content!r})"
        case "%":
            return _line_magic(content)
        case "," | ";":
            words = '", "'.join(arguments.split()) if escape == "," else arguments
            return f'{name}("{words}")'
        case "/":
            return f"{name}({', '.join(arguments.split())})"
    if not content:
        return "get_ipython().show_usage()"
    method = "pinfo2" if escape == "??" else "psearch" if "*" in content else "pinfo"
    return f"get_ipython().run_line_magic({method!r}, {content!r})"


@dataclass
class PlainCell:
    """A cell as Python that runs without IPython."""

    code: str
    commands: list[str] = field(default_factory=list)
    """What was left out: shell commands as `!…`, magics as `%…` and `%%…`."""


def plain_cell(cell: str) -> PlainCell:
    """Return a cell with the code of its magics in their place, and `pass` for those that run none.

    A cell that is no Python, even as IPython takes it, is returned as IPython takes it.
    """
    code = ipython_calls(cell)
    try:
        tree = ast.parse(code)
        # By bytes, as the tree counts them.
        source, starts = code.encode(), [0]
        for line in source.split(b"\n"):
            starts.append(starts[-1] + len(line) + 1)
        statements = [node for node in ast.walk(tree) if isinstance(node, ast.Expr | ast.Assign)]
        pieces, commands, position = list[bytes](), list[str](), 0
        for node in sorted(statements, key=lambda node: (node.lineno, node.col_offset)):
            if (call := _shell_call(node.value)) is None:
                continue
            text = _value(*call, commands) if isinstance(node, ast.Assign) else _replacement(*call, commands)
            place = node.value if isinstance(node, ast.Assign) else node
            begin = starts[place.lineno - 1] + place.col_offset
            before = source[starts[place.lineno - 1] : begin].decode()
            margin = before if not before.strip() else ""
            pieces += [source[position:begin], indent(text, margin).removeprefix(margin).encode()]
            position = starts[(place.end_lineno or place.lineno) - 1] + (place.end_col_offset or 0)
        return PlainCell(b"".join([*pieces, source[position:]]).decode(), commands)
    except _FAULTS:  # in magics within magics, too
        magic = _AUTOMAGIC.fullmatch(cell)
        return PlainCell("pass\n", [f"%{magic[1]}"]) if magic else PlainCell(code)


def _shell_call(node: ast.expr) -> tuple[str, tuple[str, ...]] | None:
    """Return method and arguments of a call of `get_ipython()` with constant text, None if it is none."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.keywords):
        return None
    shell = node.func.value
    if not (isinstance(shell, ast.Call) and isinstance(shell.func, ast.Name) and shell.func.id == "get_ipython"):
        return None
    constants = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
    texts = tuple(value for value in constants if isinstance(value, str))
    argument_counts = {"run_cell_magic": 3, "run_line_magic": 2, "magic": 1, "system": 1, "getoutput": 1}
    method = node.func.attr
    if len(texts) != len(node.args) or argument_counts.get(method) != len(texts):
        return None
    if method == "magic":
        name, _, arguments = texts[0].lstrip("%").partition(" ")
        return "run_line_magic", (name, arguments)
    return method, texts


def _replacement(method: str, texts: tuple[str, ...], commands: list[str]) -> str:
    """Return the statements that a call as a statement stands for."""
    if method == "run_cell_magic":
        return _cell_magic(texts[0], texts[1], texts[2], commands) or "pass"
    if method != "run_line_magic":
        commands.append(f"!{texts[0]}")
        return "pass"
    name, arguments = texts
    arguments = arguments.strip()
    if name in _TIMERS and (statement := arguments[_options_end(arguments) :]):
        return _nested(statement, commands) or "pass"
    if name in ("env", "set_env") and (setting := re.fullmatch(r"(\w+)(?:\s*=\s*|\s+)([^${}]*)", arguments)):
        return f"__import__('os').environ[{setting[1]!r}] = {setting[2]!r}"
    if name == "pylab":
        return _PYLAB
    if name == "run" and (script := re.fullmatch(r"(?:-\w\s+)*['\"]?([^'\"\s]+\.py)['\"]?(?:\s.*)?", arguments)):
        return f"exec(__import__('pathlib').Path({script[1]!r}).read_text())"
    if name not in ("pinfo", "pinfo2", "psearch"):
        commands.append(f"%{name} {arguments}".strip())
    return "pass"


def _value(method: str, texts: tuple[str, ...], commands: list[str]) -> str:
    """Return the expression that a call to the right of `=` stands for."""
    if method == "run_line_magic" and texts[0] in ("time", "prun"):
        value = texts[1].strip()
        value = value[_options_end(value) :]
        try:
            ast.parse(value, mode="eval")
            return f"({value})"
        except _FAULTS:
            pass
    commands.append(f"!{texts[0]}" if len(texts) == 1 else f"%{' '.join(texts)}".strip())
    return "[]"


def _cell_magic(name: str, line: str, body: str, commands: list[str]) -> str:
    words = line.split()
    if name in _RUNNERS:
        return _nested(body if body.strip() else line[_options_end(f"{line} ") :], commands)
    if name in _TIMERS:
        return f"{_nested(line[_options_end(f'{line} ') :], commands)}\n{_nested(body, commands)}".strip("\n")
    if name == "capture":
        names = [f"{word} = get_ipython()\n" for word in words if word.isidentifier()]
        return "".join(names) + _nested(body, commands)
    if name in ("writefile", "file") and words and not words[-1].startswith("-"):
        mode = "a" if words[0] in ("-a", "--append") else "w"
        path = words[-1].strip("'\"")
        return f"with open({path!r}, {mode!r}) as written_by_cell: written_by_cell.write({body!r})"
    if name in _SHELLS:
        commands += [f"!{line.strip()}" for line in body.splitlines() if line.strip()]
    commands.append(f"%%{name} {line}".strip())
    return ""


def _options_end(arguments: str) -> int:
    return min(len(arguments), _OPTIONS.match(arguments).end())  # type: ignore[union-attr]  # it matches everywhere


def _nested(code: str, commands: list[str]) -> str:
    inner = plain_cell(code)
    commands += inner.commands
    return inner.code.strip("\n")
