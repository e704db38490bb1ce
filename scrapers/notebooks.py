"""Kernel files as text: a notebook's prose and code with its outputs cut down, scripts and prose as they are."""

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scrapers.cleaning import LARGEST_TEXT, clean, cut_middle

_LONGEST_OUTPUT = 2_000
"""Characters kept of one cell's output."""
_LARGEST_NOTEBOOK = 64_000_000
"""Bytes; of a larger file only both ends are read, as text."""

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_PROGRESS = re.compile(r"\d{1,3}%\s?\||[█▏▎▍▌▋▊▉]|\[[=>.\-# ]{8,}\]|\bETA:|\d+/\d+ \[.{0,40}(it/s|s/it)")
_ENCODED = re.compile(r"(?<![A-Za-z0-9+/])(?:data:[\w/+.;=-]{1,100},)?[A-Za-z0-9+/]{400,}={0,2}")
_TAG = re.compile(r"<[^<>]{0,2000}>")
_BACKTICKS = re.compile(r"`{3,}")


def kernel_text(path: Path) -> str:
    """Return what a kernel's file says, as clean text of at most `cleaning.LARGEST_TEXT` bytes.

    A notebook (`.ipynb`, nbformat 3 or 4) becomes its markdown and its code in fences, each with the text of its
    output: without images and progress bars, long logs cut. A file that is no notebook after all, and every other kind,
    is read as text. Bytes that are not UTF-8 are replaced.

    Raises:
        OSError: the file cannot be read.
    """
    text = _read(path)
    if path.suffix.lower() == ".ipynb":
        text = notebook_text(text)
    return cut_middle(clean(text))


def notebook_text(source: str) -> str:
    """Return a notebook's JSON as text (see `kernel_text`), not cut; what is no notebook comes back without images."""
    try:
        notebook = json.loads(source)
    except (ValueError, RecursionError):
        return _ENCODED.sub("[encoded data left out]", source)
    if not isinstance(notebook, dict):
        return _ENCODED.sub("[encoded data left out]", source)
    language = _language(notebook)
    parts = (part for cell in _cells(notebook) for part in _cell_parts(cell, language))
    return "\n\n".join(part for part in parts if part.strip())


def _read(path: Path) -> str:
    size = path.stat().st_size
    with path.open("rb") as file:
        if size <= _LARGEST_NOTEBOOK:
            data = file.read()
        else:
            start = file.read(LARGEST_TEXT)
            file.seek(size - LARGEST_TEXT)
            data = start + b"\n" + file.read(LARGEST_TEXT)
    return data.decode("utf-8-sig", errors="replace")


def _language(notebook: dict[str, Any]) -> str:
    metadata = _mapping(notebook.get("metadata"))
    for holder in ("language_info", "kernelspec"):
        section = _mapping(metadata.get(holder))
        name = section.get("language") or section.get("name")
        if isinstance(name, str) and re.fullmatch(r"[A-Za-z]{1,20}", name):
            return name.lower()
    return "python"


def _cells(notebook: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the cells of format 4, or those of all worksheets of format 3."""
    sheets = notebook.get("worksheets")
    for holder in (notebook, *(sheets if isinstance(sheets, list) else [])):
        cells = _mapping(holder).get("cells")
        yield from (cell for cell in (cells if isinstance(cells, list) else []) if isinstance(cell, dict))


def _cell_parts(cell: dict[str, Any], language: str) -> Iterator[str]:
    source = _joined(cell.get("source", cell.get("input")))
    source = _ENCODED.sub("[encoded data left out]", source).strip("\n")
    kind = cell.get("cell_type")
    if kind != "code":
        level = cell.get("level")
        yield f"{'#' * level} {source}" if kind == "heading" and isinstance(level, int) and 0 < level < 7 else source
        return
    if source.strip():
        yield _fenced(source, language)
    outputs = cell.get("outputs")
    texts = (_output_text(_mapping(output)) for output in (outputs if isinstance(outputs, list) else []))
    text = "\n".join(text for text in texts if text)
    if text:
        yield "Output:\n" + _fenced(_shortened(text), "text")


def _output_text(output: dict[str, Any]) -> str:
    kind = output.get("output_type")
    if kind in ("error", "pyerr"):
        return clean(f"{output.get('ename')}: {_joined(output.get('evalue'))}")[:_LONGEST_OUTPUT]
    data = _mapping(output.get("data")) or output  # format 3 has the representations in the output itself
    text = _joined(data.get("text/plain", data.get("text")))
    markup = _joined(data.get("text/html", data.get("html")))
    if not text and markup:
        text = html.unescape(_TAG.sub(" ", markup[:100_000]))
    if any(name.startswith("image/") or name in ("png", "jpeg", "svg") for name in data):
        return "[image left out]"
    return _without_progress(text)


def _without_progress(text: str) -> str:
    """Drop escape codes, what a carriage return has overwritten, progress bars and encoded data."""
    text = _ESCAPES.sub("", text.replace("\r\n", "\n"))
    lines = (line.rstrip("\r").rsplit("\r", 1)[-1] for line in text.split("\n"))
    kept = [line.rstrip() for line in lines if not _PROGRESS.search(line[:1000])]
    return _ENCODED.sub("[encoded data left out]", "\n".join(kept)).strip("\n")


def _shortened(text: str) -> str:
    if len(text) <= _LONGEST_OUTPUT:
        return text
    start, end = text[: _LONGEST_OUTPUT * 2 // 3], text[-_LONGEST_OUTPUT // 3 :]
    return f"{start}\n[... {len(text) - len(start) - len(end):,} characters of output cut ...]\n{end}"


def _fenced(text: str, language: str) -> str:
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _joined(value: object) -> str:
    """Return text that a notebook may keep as one string or as a list of lines."""
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
