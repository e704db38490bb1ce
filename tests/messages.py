"""Every sentence of the product that a person may read, with sample values: `python -m tests.messages [FOLDER...]` prints them.

A sentence is a text in code of at least four words that is no docstring. What is filled in at run time is shown as a sample.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.source_tree import ROOT, sources

_SAMPLES = {
    "seconds|timeout|wait|elapsed|remaining|duration": "12",
    "path|file|folder|place|archive": "runs/demo/train.csv",
    "error|exception|fault|failure|cause|reason|why": "the connection was refused",
    "slug|competition": "spooky-author",
    "count|number|total|len|rows|row|line|size|most|limit|budget|port|pid|tokens|bytes|day|days|hours|hour|status|code": "3",
    "score|value|gain|share|cost|usd": "0.42",
    "column|columns|name|names|key|option|target|metric|label|word|words": "price",
    "url|address|endpoint": "http://127.0.0.1:8080",
    "model|agent|coder": "comind",
    "time|at|when|since|until|date|moment|deadline": "2026-01-31 12:00",
    "node|run|lab|draft|idea": "7",
}
_CODE = re.compile(
    r"\b(SELECT|INSERT|UPDATE|DELETE|CREATE|WHERE|ORDER BY)\b|[{}]{2}|</|^\s*(import|from|def) "
    r"|\\[bdswW(]|\(\?|\w\[\w|^[#.]\w+ |;.*:.*;"
)


def sentences(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each sentence in a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = set[int]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(id(node.value))  # a docstring
        if id(node) in skipped or not isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp):
            continue
        text = _text(node)
        if text is not None:
            skipped.update(id(child) for child in ast.walk(node))
            if len(re.findall(r"[A-Za-z]{2,}", text)) >= 4 and " " in text.strip() and not _CODE.search(text):
                yield node.lineno, " ".join(text.split())


def _text(node: ast.expr) -> str | None:
    """Return a text as it may be printed; None if this is no text."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(
            _sample(part.value) if isinstance(part, ast.FormattedValue) else str(_text(part)) for part in node.values
        )
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _text(node.left), _text(node.right)
        if left is not None or right is not None:
            return (_sample(node.left) if left is None else left) + (_sample(node.right) if right is None else right)
    return None


def _sample(node: ast.expr) -> str:
    """Return a plausible value of an expression, by the names in it."""
    if isinstance(node, ast.IfExp) and (text := _text(node.body)) is not None:
        return text
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "join":
        return "price, size"
    words = [word for name in re.findall(r"[a-z_]+", ast.unparse(node).lower()) for word in name.split("_")]
    for word in reversed(words):
        for names, sample in _SAMPLES.items():
            if word in names.split("|"):
                return sample
    return "x"


if __name__ == "__main__":
    folders = [Path(argument).resolve() for argument in sys.argv[1:]] or [ROOT]
    for file in sources(ROOT):
        if any(file.is_relative_to(folder) for folder in folders):
            for number, sentence in sentences(file):
                print(f"{file.relative_to(ROOT)}:{number}: {sentence}")
