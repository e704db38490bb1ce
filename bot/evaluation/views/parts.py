"""What is stored of rows beside their labels: which are of `final`, which no view may show, and their lines of folds.csv."""

import json
from collections.abc import Iterable
from pathlib import Path

_FILE = "final_rows.json"
_LINES = "fold_lines.json"


def write_final(labels_dir: Path, places: Iterable[int]) -> None:
    """Store the places of the rows of `final` in labels.csv and sample_validation.csv, from 0 below the header."""
    (labels_dir / _FILE).write_text(json.dumps(list(places)), encoding="utf-8")


def final_places(labels_dir: Path) -> frozenset[int]:
    """Return the places that `write_final` stored; empty if no rows are scored apart."""
    file = labels_dir / _FILE
    return frozenset(json.loads(file.read_bytes())) if file.is_file() else frozenset()


def write_lines(labels_dir: Path, lines: Iterable[int]) -> None:
    """Store for each row of the folds' sample_validation.csv the line of folds.csv, from 0, that it is asked for."""
    (labels_dir / _LINES).write_text(json.dumps(list(lines)), encoding="utf-8")


def fold_lines(labels_dir: Path) -> list[int]:
    """Return the lines that `write_lines` stored."""
    lines: list[int] = json.loads((labels_dir / _LINES).read_bytes())
    return lines
