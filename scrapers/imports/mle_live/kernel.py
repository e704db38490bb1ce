"""A kernel's text, markdown and code in turn between bare fences, as the file that it was made of.

MLE-Live's collector writes a line break and a fence wherever the kind of cell changes, a line break between cells of
one kind, and no outputs; a script it puts between two fences as a whole. So a notebook comes back with its cells of one
kind joined and without empty ones, and is only made where the fences go in pairs; else the text stays as it is.
"""

import json
import re
from dataclasses import dataclass
from typing import Literal

_FENCE = "```"
_OWN_FENCE = re.compile(r" {0,3}(?:(?P<named>`{3,})[ \t]*[^`\s][^`]*|(?P<long>`{4,})\s*|(?P<waves>~{3,}).*)$")
_R_MARKDOWN = re.compile(r"^```\{r\b", re.MULTILINE)
# No blank may run over a line's end, nor two parts match the same: foreign text must not cost the square of its length.
_R = re.compile(
    r"^[ \t]*(?:library|require|suppressMessages|ggplot|data\.table)\(|^[ \t]*[\w.]+[ \t]*<-[ \t]|%>%", re.MULTILINE
)
_PYTHON = re.compile(
    r"^[ \t]*(?:import \w|from [\w.]+ import |def \w+\(|class \w+[:(]|for \w[^\n]{0,60}? in |[%!]\w)", re.MULTILINE
)
_LONGEST_LOOK = 50_000
"""Characters by which a language is told."""


@dataclass(frozen=True)
class KernelFile:
    """A kernel as a file of a snapshot."""

    suffix: Literal[".ipynb", ".py", ".R", ".md"]
    kind: Literal["notebook", "script"]
    language: str | None
    content: str


@dataclass(frozen=True)
class Cell:
    """Cells of one kind that follow one another."""

    kind: Literal["markdown", "code"]
    source: str


def kernel_file(text: str) -> KernelFile:
    """Return the file that a kernel's text is to be kept as; nothing of the text is lost.

    Args:
        text: with newline line ends.
    """
    if (script := _script(text)) is not None:
        return _script_file(script)
    cells = cells_of(text)
    if cells is None:
        return KernelFile(".md", "notebook", _language(text), text)
    if any(cell.kind == "code" for cell in cells):
        language = _language("\n".join(cell.source for cell in cells if cell.kind == "code")) or "python"
        return KernelFile(".ipynb", "notebook", language, _notebook(cells, language))
    # Prose alone, or a script that was kept without fences.
    return KernelFile(".md", "notebook", None, text) if text.startswith("\n") else _script_file(text)


def cells_of(text: str) -> tuple[Cell, ...] | None:
    """Return the cells that a text is made of, empty ones left out; None where the fences do not go in pairs.

    Fences that name a language, within markdown, belong to the markdown with all up to their end.
    """
    lines = text.removeprefix("\n").split("\n")
    cells: list[Cell] = []
    held: list[str] = []
    code, own = False, ""
    for line in lines:
        if line.rstrip() == _FENCE and not own:
            cells.append(Cell("code" if code else "markdown", "\n".join(held)))
            held, code = [], not code
            continue
        held.append(line)
        if own:
            own = "" if line.strip().startswith(own) and not line.strip().strip(own[0]) else own
        elif not code and (found := _OWN_FENCE.match(line)):
            own = found["named"] or found["long"] or found["waves"]
    if code or own:
        return None
    cells.append(Cell("markdown", "\n".join(held)))
    return tuple(cell for cell in cells if cell.source.strip())


def _script(text: str) -> str | None:
    """Return the script that is fenced as a whole, None where the text is a notebook's, which begins with a line break."""
    end = f"\n{_FENCE}"
    stripped = text.rstrip()
    whole = text.startswith(f"{_FENCE}\n") and stripped.endswith(end) and len(stripped) > len(_FENCE) + len(end)
    return stripped[len(_FENCE) + 1 : -len(end)] if whole else None


def _script_file(source: str) -> KernelFile:
    if _R_MARKDOWN.search(source):
        return KernelFile(".md", "script", "r", source)
    language = _language(source)
    if language is None and not source.lstrip().startswith(("#!", '"""')):
        return KernelFile(".md", "script", None, source)
    return KernelFile(".R" if language == "r" else ".py", "script", language or "python", source)


def _language(code: str) -> str | None:
    """Return what code looks like; None where it looks like neither."""
    start = code[:_LONGEST_LOOK]
    r, python = len(_R.findall(start)), len(_PYTHON.findall(start))
    return None if not (r or python) else "r" if r > python else "python"


def _notebook(cells: tuple[Cell, ...], language: str) -> str:
    name = "R" if language == "r" else language
    kernel = {"name": "ir" if language == "r" else "python3", "display_name": name, "language": name}
    shown: list[dict[str, object]] = [
        {"cell_type": cell.kind, "metadata": {}, "source": cell.source}
        | ({"outputs": [], "execution_count": None} if cell.kind == "code" else {})
        for cell in cells
    ]
    metadata = {"kernelspec": kernel, "language_info": {"name": name}}
    return json.dumps({"nbformat": 4, "nbformat_minor": 4, "metadata": metadata, "cells": shown}, ensure_ascii=False)
