"""A kernel's source as text: a notebook's prose, and its code cells in fences of their own with shortened output."""

import html
import json
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from scrapers.posts.cleaning import (
    LARGEST_TEXT,
    both_ends,
    clean,
    fenced,
    fenced_cell,
    possible_references,
    readable,
    without_cells,
    without_encoded,
)

_LARGEST_NOTEBOOK = 64_000_000
"""Characters; a longer one is read as text."""
_LONGEST_OUTPUT = 2_000
"""Characters kept of one cell's output."""
_LONGEST_READ = 12_000
"""Characters of one output's two ends that are read."""
_MOST_OBJECTS = 200_000
"""Most lists and objects in a notebook's JSON, and a tenth of its values: more would take a gigabyte of memory."""

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_BAR = re.compile(r"\d%\s?\||\[[=>.\-# ]{8,}\]")
_BLOCKS = re.compile("[█▏▎▍▌▋▊▉]")
_TAG = re.compile(r"<[^<>]{0,2000}>")

_NAMES = {
    **dict.fromkeys(
        ("python", "python2", "python3", "ipython", "ipython3", "py", "conda-root-py", "xpython"), "python"
    ),
    **dict.fromkeys(("r", "ir", "rmd", "rmarkdown", "rscript", "xr"), "r"),
    **dict.fromkeys(("julia", "jl"), "julia"),
    **dict.fromkeys(("sql", "sqlite", "xsqlite"), "sql"),
}
_SUFFIXES = {".py": "python", ".r": "r", ".rmd": "r", ".irnb": "r", ".jl": "julia", ".sql": "sql", ".sqlite": "sql"}


def text_of(source: str, *, language: str | None = None, kernel_type: str | None = None) -> str:
    """Return a kernel's source as clean text of at most `cleaning.LARGEST_TEXT` bytes.

    A notebook becomes its markdown and its code cells in fences (see `cleaning.parts`), each with the text of its output:
    without images and progress bars, long logs cut. A script, R markdown and prose stay text. A source that does not match
    its declared type is read as text, so that nothing raises. Encoded data stays in code cells alone. The language is as the
    site names it; a notebook's own metadata take precedence. Whether it is a `notebook` or a `script` is otherwise decided by
    the content.
    """
    looks = source[:200].lstrip("\ufeff \t\r\n").startswith("{") and ('"cells"' in source or '"worksheets"' in source)
    if (looks or kernel_type == "notebook") and len(source) <= _LARGEST_NOTEBOOK:
        notebook = parse_notebook(source.removeprefix("\ufeff"))
        if notebook is not None:
            return _notebook_text(notebook, language_named(language))
    return readable(source)


def _notebook_text(notebook: dict[str, Any], language: str | None) -> str:
    """Return a notebook as text; of one that is too long, output is left out first, then prose, then encoded data.

    A notebook without code has one empty code cell, which tells it from a script.
    """
    language_name = notebook_language(notebook) or language or "python"
    parts = [part for cell in _mappings(notebook["cells"]) for part in _cell_parts(cell, language_name)]
    if not code_cells(notebook):
        parts.append(("code", fenced_cell("", language_name)))
    text = ""
    for kinds in (("code", "prose", "output"), ("code", "prose"), ("code",)):
        text = "\n\n".join(part for kind, part in parts if kind in kinds)
        if len(text.encode()) <= LARGEST_TEXT:
            return text
    return readable(text)


def code_cells(notebook: dict[str, Any]) -> list[str]:
    """Return the code cells of a notebook that are not empty, as they are."""
    cells = (cell for cell in _mappings(notebook["cells"]) if cell.get("cell_type") == "code")
    return [source for cell in cells if (source := _joined(cell.get("source"))).strip()]


def notebook_language(notebook: dict[str, Any]) -> str | None:
    """Return the language that a notebook's metadata name, None if they name none."""
    metadata = _mapping(notebook.get("metadata"))
    for holder, name in (("language_info", "name"), ("kernelspec", "language"), ("kernelspec", "name")):
        language = language_named(_mapping(metadata.get(holder)).get(name))
        # An environment's kernel is named as its maker liked.
        if language and (language in _NAMES.values() or (holder, name) != ("kernelspec", "name")):
            return language
    return None


def parse_notebook(source: str) -> dict[str, Any] | None:
    """Return a notebook as format 4 has it, with its cells; None if the text is not a notebook, or too large."""
    if source.count("{") + source.count("[") > _MOST_OBJECTS or source.count(",") > 10 * _MOST_OBJECTS:
        return None
    try:
        content = json.loads(source)
    except (ValueError, RecursionError):
        return None
    if isinstance(content, dict) and isinstance(content.get("worksheets"), list):
        content = _upgraded(content)
    return content if isinstance(content, dict) and isinstance(content.get("cells"), list) else None


def _upgraded(content: dict[str, Any]) -> Any:
    """Return a notebook of format 3 as format 4 has it, None if it cannot be upgraded."""
    # Imported here: few notebooks are that old.
    import nbformat.reader

    try:
        read = nbformat.reader.reads(json.dumps({"nbformat": 3, **content}))  # type: ignore[no-untyped-call]
        return nbformat.convert(read, 4)  # type: ignore[no-untyped-call]
    except (nbformat.ValidationError, ValueError, RecursionError, TypeError, LookupError, AttributeError):
        return None


def _cell_parts(cell: dict[str, Any], language: str) -> Iterator[tuple[str, str]]:
    """Yield a cell's code or prose, then what it printed, each unless it is blank."""
    source = clean(_joined(cell.get("source")))
    if cell.get("cell_type") != "code":
        if prose := without_cells(without_encoded(source)).strip("\n"):
            yield "prose", prose
        return
    if source.strip():
        yield "code", fenced_cell(source, language)
    text = "\n".join(text for text in map(_output_text, _mappings(cell.get("outputs"))) if text)
    if text:
        yield "output", "Output:\n" + fenced(without_cells(_shortened(clean(text))), "text")


def _output_text(output: dict[str, Any]) -> str:
    if output.get("output_type") == "error":
        return clean(f"{output.get('ename')}: {_joined(output.get('evalue'))}")[:_LONGEST_OUTPUT]
    data = _mapping(output.get("data"))
    if any(name.startswith("image/") for name in data):
        return "[image left out]"
    text = _joined(data.get("text/plain")) or _joined(output.get("text"))
    if not text and (markup := _joined(data.get("text/html"))):
        text = html.unescape(possible_references(_TAG.sub(" ", markup[:100_000])))
    return _without_progress(text)


def _without_progress(text: str) -> str:
    """Drop escape codes, text overwritten after a carriage return, progress bars and encoded data."""
    text = _ESCAPES.sub("", both_ends(text, _LONGEST_READ).replace("\r\n", "\n"))
    lines = (line.rstrip("\r").rsplit("\r", 1)[-1] for line in text.split("\n"))
    clean_lines = [line.rstrip() for line in lines if not _is_progress(line[:1000])]
    return without_encoded("\n".join(clean_lines)).strip("\n")


def _is_progress(line: str) -> bool:
    """Whether a line is a progress bar, as tqdm, Keras, curl and the like draw them."""
    # Called for every line of every log: only likely lines are matched with the expressions.
    return (
        (("%" in line or "[" in line) and _BAR.search(line) is not None)
        or (("it/s" in line or "s/it" in line) and "[" in line)
        or "ETA:" in line
        or (not line.isascii() and _BLOCKS.search(line) is not None)
    )


def _shortened(text: str) -> str:
    if len(text) <= _LONGEST_OUTPUT:
        return text
    start, end = text[: _LONGEST_OUTPUT * 2 // 3], text[-_LONGEST_OUTPUT // 3 :]
    return f"{start}\n[... {len(text) - len(start) - len(end):,} characters of output cut ...]\n{end}"


def _joined(value: object) -> str:
    """Return text that a notebook may hold as one string or as a list of lines."""
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _mappings(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def language_named(name: object) -> str | None:
    """Return a source's name of a language in lower case; None for anything else, such as `ipynb`."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9+#.-]{0,30}", name):
        return None
    lower = name.lower()
    language_name = _NAMES.get(lower) or _NAMES.get(re.sub(r"[-0-9.]+$", "", lower))
    return language_name or (
        lower if re.fullmatch(r"[a-z+#]{1,20}", lower) and lower not in ("ipynb", "notebook", "script") else None
    )


def language_of_file(name: str) -> str | None:
    """Return the language of a file's suffix, None if it has none."""
    return _SUFFIXES.get(PurePosixPath(name.replace("\\", "/")).suffix.lower())
