"""Tells whether the names or folders of the training files give their labels away."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from bot.evaluation.layouts.data_files import archive_names, data_files
from bot.evaluation.layouts.layout import Layout
from state.errors import UnsupportedLayout

_FEWEST = 20
_SHARE = 0.9
"""Names that hold the label of at least this share of the rows they belong to are no accident."""
_BREAK = re.compile(r"[_\-.\s]+")


def check_names(data_dir: Path, layout: Layout) -> None:
    """Check that no file or archive member of a training row is named or filed by its label.

    Raises:
        UnsupportedLayout: they are; withholding the label from train.csv would hide nothing.
    """
    if not layout.is_classification or len(layout.label_columns) != 1:
        return
    labels = {_stem(i): cells[0] for i, cells in zip(layout.ids, layout.labels, strict=True)}
    matched, told, seen = 0, 0, set[str]()
    for name in file_names(data_dir):
        row = row_of(name, labels)
        if row is not None:
            matched += 1
            if labels[row] in _words(name, row):
                told += 1
                seen.add(labels[row])
    if matched >= min(_FEWEST, len(labels)) and told >= _SHARE * matched and len(seen) > 1:
        raise UnsupportedLayout("The names or folders of the training files hold the labels.")


def file_names(data_dir: Path) -> Iterator[str]:
    """Yield the names of all files and of all members of zip and tar archives, with their folders."""
    for path in data_files(data_dir):
        yield path.as_posix()
        yield from archive_names(data_dir / path) or ()


def row_of(name: str, labels: Mapping[str, str]) -> str | None:
    """Return the id (without suffix) that a path names, as a folder, a file, or a file's first or last word."""
    for part in reversed(name.split("/")):
        stem = _stem(part)
        if stem in labels:
            return stem
        words = _BREAK.split(stem)
        for candidate in (part, words[0], words[-1]):
            if candidate in labels:
                return candidate
    return None


def _words(name: str, row: str) -> set[str]:
    """All other words of a path: its folders, and the pieces of its names."""
    words: set[str] = set()
    for part in name.split("/"):
        stem = _stem(part)
        words |= {part, stem, *_BREAK.split(stem)}
    return words - {row}


def _stem(name: str) -> str:
    """A file's name without its suffix; quicker than pathlib's, for archives of many thousand members."""
    head, dot, _ = name.rpartition(".")
    return head if dot and head else name
