"""A notebook's JSON as text: its prose and its code in fences, each with what it printed, cut down."""

import json
import re
from collections.abc import Iterator
from typing import Any

from scrapers.posts.cleaning import both_ends, clean, without_encoded, without_references
from scrapers.posts.fences import fenced
from scrapers.posts.languages import language_named

_LONGEST_OUTPUT = 2_000
"""Characters kept of one cell's output."""
_LONGEST_READ = 12_000
"""Characters of one output's two ends that are looked at."""
_MOST_OBJECTS = 200_000
"""Lists and objects in a notebook's JSON, and a tenth of its values: what has more takes a gigabyte to hold."""

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_BAR = re.compile(r"\d%\s?\||\[[=>.\-# ]{8,}\]")
_BLOCKS = re.compile("[█▏▎▍▌▋▊▉]")
_TAG = re.compile(r"<[^<>]{0,2000}>")


class NotANotebook(ValueError):
    """What was to be read as a notebook cannot be read as one of any format."""


def notebook_text(source: str, language: str | None = None) -> str:
    """Return a notebook's JSON as text, neither cleaned nor cut; what is no notebook comes back without images.

    Formats before 4 are brought to it by nbformat first.

    Args:
        source: the file's text.
        language: of the code, where the notebook does not say; None means python.
    """
    try:
        notebook = _format_4(source)
    except NotANotebook:
        return without_encoded(source)
    named = notebook_language(notebook) or language or "python"
    parts = (part for cell in notebook["cells"] for part in _cell_parts(cell, named))
    return "\n\n".join(part for part in parts if part.strip())


def notebook_language(notebook: dict[str, Any]) -> str | None:
    """Return the language that a notebook says its code is in, None where it says none."""
    metadata = _mapping(notebook.get("metadata"))
    for holder in ("language_info", "kernelspec"):
        section = _mapping(metadata.get(holder))
        for name in ("language", "name"):
            if language := language_named(section.get(name)):
                return language
    return None


def _format_4(source: str) -> dict[str, Any]:
    """Read a notebook of any format.

    Raises:
        NotANotebook: it is none, it is broken, or it holds more than is worth reading.
    """
    # Imported here, as it takes a while, and most commands read no notebook.
    import nbformat
    from nbformat.converter import convert
    from nbformat.v4.convert import upgrade_cell
    from nbformat.validator import ValidationError

    if source.count("{") + source.count("[") > _MOST_OBJECTS or source.count(",") > 10 * _MOST_OBJECTS:
        raise NotANotebook("it has too many parts")
    try:
        content = json.loads(source)
        version = _mended(content)
        notebook: dict[str, Any] = nbformat.versions[version].to_notebook_json(content)
        if version < 4:
            # The last step cell by cell, as the whole of it also checks all against two schemas, only to log what it finds.
            sheets = convert(notebook, 3)["worksheets"]  # type: ignore[no-untyped-call]
            notebook["cells"] = [upgrade_cell(cell) for sheet in sheets for cell in sheet["cells"]]  # type: ignore[no-untyped-call]
    except NotANotebook:
        raise
    except (ValidationError, ValueError, TypeError, LookupError, AttributeError, NameError, RecursionError) as error:
        # nbformat relies on what its schemas say, and fails in one of these ways where a file is otherwise.
        raise NotANotebook(str(error)[:200]) from error
    notebook["cells"] = [cell for cell in notebook["cells"] if isinstance(cell, dict)]
    return notebook


def _mended(content: Any) -> int:
    """Complete what nbformat fails on in notebooks that are otherwise fit to read; return the format's number.

    Raises:
        NotANotebook: there are no cells.
    """
    if not isinstance(content, dict):
        raise NotANotebook("it is no object")
    content["metadata"] = _mapping(content.get("metadata"))
    version = content.get("nbformat")
    if version not in (1, 2, 3):
        version = 3 if "cells" not in content and isinstance(content.get("worksheets"), list) else 4
    content["nbformat"] = version
    if version in (2, 3):
        holders = content["worksheets"] = _mappings(content.get("worksheets"))
    else:
        holders = [content]
    if not any(isinstance(holder.get("cells"), list) for holder in holders):
        raise NotANotebook("it has no cells")
    for holder in holders:
        holder["cells"] = _mappings(holder.get("cells"))
        if version == 1:  # which has no others, and would be read wrongly
            holder["cells"] = [cell for cell in holder["cells"] if cell.get("cell_type") in ("code", "text")]
        for cell in holder["cells"]:
            _mend_cell(cell)
    return int(version)


def _mend_cell(cell: dict[str, Any]) -> None:
    cell.setdefault("cell_type", "raw")
    cell["metadata"] = _mapping(cell.get("metadata"))
    cell.pop("attachments", None)
    for name in ("source", "input"):
        if name in cell:
            lines = cell[name] if isinstance(cell[name], list) else [cell[name]]
            cell[name] = [line for line in lines if isinstance(line, str)]
    if not isinstance(cell.get("level", 1), int) or not 0 < cell.get("level", 1) < 7:
        cell["level"] = 1
    cell["outputs"] = _mappings(cell.get("outputs"))
    for output in cell["outputs"]:
        output.setdefault("output_type", "display_data")
        output["text"] = _joined(output.get("text"))
        output["data"] = _mapping(output.get("data"))


def _cell_parts(cell: dict[str, Any], language: str) -> Iterator[str]:
    source = _joined(cell.get("source")).strip("\n")
    if cell.get("cell_type") != "code":
        yield without_encoded(source)
        return
    if source.strip():
        yield fenced(without_encoded(source), language)
    text = "\n".join(text for text in map(_output_text, _mappings(cell.get("outputs"))) if text)
    if text:
        yield "Output:\n" + fenced(_shortened(text), "text")


def _output_text(output: dict[str, Any]) -> str:
    if output.get("output_type") == "error":
        return clean(f"{output.get('ename')}: {_joined(output.get('evalue'))}")[:_LONGEST_OUTPUT]
    data = _mapping(output.get("data"))
    if any(name.startswith("image/") for name in data):
        return "[image left out]"
    text = _joined(data.get("text/plain")) or _joined(output.get("text"))
    if not text and (markup := _joined(data.get("text/html"))):
        text = without_references(_TAG.sub(" ", markup[:100_000]))
    return _without_progress(text)


def _without_progress(text: str) -> str:
    """Drop escape codes, what a carriage return has overwritten, progress bars and encoded data."""
    text = _ESCAPES.sub("", both_ends(text, _LONGEST_READ).replace("\r\n", "\n"))
    lines = (line.rstrip("\r").rsplit("\r", 1)[-1] for line in text.split("\n"))
    kept = [line.rstrip() for line in lines if not _is_progress(line[:1000])]
    return without_encoded("\n".join(kept)).strip("\n")


def _is_progress(line: str) -> bool:
    """Whether a line is a progress bar, as tqdm, Keras, curl and the like draw them."""
    # Asked of every line of every log: the expressions are for lines that may be one.
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
    """Return text that a notebook may keep as one string or as a list of lines."""
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _mappings(value: object) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
