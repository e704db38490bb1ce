"""Analysis of Python text: the modules and names that it uses, its code without comments, and its comments."""

import ast
import io
import re
import tokenize
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from scrapers.posts.ipython_code import plain_cell
from scrapers.posts.kernel_text import code_cells, parse_notebook

_CODE = (".py", ".r", ".ipynb")
"""Ends of the names of files that hold code."""
_TOKEN = re.compile(r"#[^\n]*|([\"'])\1\1(?:.|\n)*?\1{3}|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'")
_IMPORT = re.compile(r"^\s*(?:from|import)\s+([\w.]+)|\b(?:library|require)\((\w+)\)", re.MULTILINE)
_FAULTS = (SyntaxError, ValueError, RecursionError, MemoryError)


@dataclass(frozen=True)
class Code:
    """A file of code."""

    modules: frozenset[str]
    """Dotted names of what is imported and used."""
    names: Counter[str]
    """Identifiers that are used, outside comments and strings, with their number."""
    text: str
    """The code without comments and documentation."""
    comments: str


@lru_cache(maxsize=256)
def code_of(path: str, text: str) -> Code | None:
    """Return a file's code, None if its name is not that of code; text that does not parse is analysed by patterns."""
    if not path.lower().endswith(_CODE):
        return None
    if path.lower().endswith(".ipynb"):
        notebook = parse_notebook(text)
        text = "\n".join(plain_cell(cell).code for cell in code_cells(notebook)) if notebook else ""
    try:
        tree = ast.parse(text)
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (*_FAULTS, tokenize.TokenError):
        return _by_patterns(text)
    comments = [(t.start[0], t.start[1], t.end[1]) for t in tokens if t.type == tokenize.COMMENT]
    lines = text.split("\n")
    remarks = [(line, lines[line - 1][start:end]) for line, start, end in comments]
    for line, start, end in comments:
        lines[line - 1] = lines[line - 1][:start] + lines[line - 1][end:]
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            remarks.append((node.lineno, node.value.value))
            lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or node.lineno) - node.lineno + 1)
    modules, names = _modules_and_names(tree)
    return Code(modules, names, "\n".join(lines), "\n".join(remark for _, remark in sorted(remarks)))


def _modules_and_names(tree: ast.AST) -> tuple[frozenset[str], Counter[str]]:
    names, modules = Counter[str](), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            names[node.id] += 1
        elif isinstance(node, ast.Attribute):
            names[node.attr] += 1
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if names[alias.asname or alias.name.partition(".")[0]]:
                    modules.add(alias.name)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
            for alias in node.names:
                if alias.name == "*" or names[alias.asname or alias.name]:
                    modules.add(node.module)
                    if alias.asname not in (None, alias.name):
                        names[alias.name] += names[alias.asname or ""]
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in ("import_module", "__import__"):
                modules.add(str(node.args[0].value))
    return frozenset(modules), names


def _by_patterns(text: str) -> Code:
    remarks = [match[0] for match in _TOKEN.finditer(text) if match[0].startswith(("#", '"""', "'''"))]
    bare = _TOKEN.sub(" ", text)
    modules = frozenset(match[1] or match[2] for match in _IMPORT.finditer(bare))
    imports = re.sub(r"^\s*(?:from|import)\s.*", "", bare, flags=re.MULTILINE)
    code = _TOKEN.sub(lambda match: " " if match[0] in remarks else match[0], text)
    return Code(modules, Counter(re.findall(r"[^\W\d]\w*", imports)), code, "\n".join(remarks))
