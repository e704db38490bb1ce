"""Checks that the names and folders of the training files do not give their labels away."""

import re
from collections.abc import Mapping
from itertools import chain
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

    Raises UnsupportedLayout: they are; withholding the label from train.csv would hide nothing.
    """
    if not layout.is_classification or len(layout.label_columns) != 1:
        return
    labels = {stem(i): cells[0] for i, cells in zip(layout.ids, layout.labels, strict=True)}
    matched, leaked, labels_found = 0, 0, set[str]()
    path_names = ((path.as_posix(), *(archive_names(data_dir / path) or ())) for path in data_files(data_dir))
    for name in chain.from_iterable(path_names):
        row = row_of(name, labels)
        if row is not None:
            matched += 1
            if labels[row] in _words(name, row):
                leaked += 1
                labels_found.add(labels[row])
    if matched >= min(_FEWEST, len(labels)) and leaked >= _SHARE * matched and len(labels_found) > 1:
        raise UnsupportedLayout("The names or folders of the training files reveal the labels.")


def row_of(name: str, labels: Mapping[str, str]) -> str | None:
    """Return the id (without suffix) that a path names, as a folder, a file, or a file's first or last word."""
    for part in reversed(name.split("/")):
        full_stem = stem(part)
        if full_stem in labels:
            return full_stem
        words = _BREAK.split(full_stem)
        for candidate in (part, words[0], words[-1]):
            if candidate in labels:
                return candidate
    return None


def _words(name: str, row: str) -> set[str]:
    """All other words of a path: its folders, and the pieces of its names."""
    words: set[str] = set()
    for part in name.split("/"):
        words |= {part, stem(part), *_BREAK.split(stem(part))}
    return words - {row}


def stem(name: str) -> str:
    """Return a file's name without its suffix; quicker than pathlib's, for archives of many thousand members."""
    head, dot, _ = name.rpartition(".")
    return head if dot and head else name
