"""The sources of an experiment: those that are named, or those that run."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .protocol import FilePart, LabError, file_part

WORK = "/lab/work"
_SOURCE_BYTES, _SOURCES_BYTES, _SOURCES = 1_000_000, 4_000_000, 40


def named_sources(paths: Iterable[str | os.PathLike[str]]) -> list[FilePart]:
    """Return the sources at these paths."""
    names = [os.fspath(path) for path in paths]
    return [file_part("source", _relative(path, os.getcwd()), path, _SOURCE_BYTES) for path in names]  # noqa: PTH109


def running_sources() -> list[FilePart]:
    """Return the running script, and the modules that it has imported from its folder, as far as there is room."""
    main = sys.modules.get("__main__")
    path = getattr(main, "__file__", None)
    if not path or not Path(path).is_file():
        text = _typed(main)[:_SOURCE_BYTES]
        return [FilePart("source", "typed.py", len(text), [text])] if text else []
    folder = str(Path(path).absolute().parent)
    imported = {getattr(module, "__file__", None) or "" for module in list(sys.modules.values())} - {path}
    # Neither above the folder, nor hidden or installed.
    foreign = re.compile(r"(^|/)(\.|site-packages/)")
    modules = (file for file in imported if file.endswith(".py") and not foreign.search(os.path.relpath(file, folder)))
    parts: list[FilePart] = []
    room = _SOURCES_BYTES
    for file in [path, *sorted(modules)][:_SOURCES]:
        try:
            part = file_part("source", _relative(file, folder), file, min(_SOURCE_BYTES, room))
        except LabError:
            continue
        parts.append(part)
        room -= part.size
    return parts


def _relative(path: str, folder: str) -> str:
    """Return a path relative to the lab's working folder or another, or the file's name where it lies in neither."""
    absolute = os.path.abspath(path)  # noqa: PTH100 - links stay, as commands name them
    for root in (WORK, folder):
        if absolute.startswith(root.rstrip("/") + "/"):
            return os.path.relpath(absolute, root)
    return Path(absolute).name


def _typed(main: Any) -> bytes:
    """Return what was typed into a notebook or given to `python` as an argument or a file, nothing where it is gone."""
    cells = getattr(main, "In", None)
    if isinstance(cells, list):
        return "\n\n".join(map(str, cells)).encode("utf-8", "replace")
    words = list(getattr(sys, "orig_argv", []))
    if sys.argv[:1] == ["-c"] and "-c" in words[:-1]:
        return os.fsencode(words[words.index("-c") + 1])
    try:
        return os.pread(0, _SOURCE_BYTES, 0) if sys.argv[:1] == ["-"] else b""
    except OSError:
        return b""
