"""Which of the rows that a view asks for are of the part `final`: kept beside their labels, as no view may show it."""

import json
from collections.abc import Iterable
from pathlib import Path

_FILE = "final_rows.json"


def write_final(labels_dir: Path, places: Iterable[int]) -> None:
    """Keep where the rows of `final` stand in labels.csv and in sample_validation.csv, counted from 0 below the header."""
    (labels_dir / _FILE).write_text(json.dumps(list(places)), encoding="utf-8")


def final_places(labels_dir: Path) -> frozenset[int]:
    """Return these places; none where no row is scored apart."""
    file = labels_dir / _FILE
    return frozenset(json.loads(file.read_bytes())) if file.is_file() else frozenset()
