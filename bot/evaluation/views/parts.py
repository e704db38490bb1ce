"""The rows of a view that belong to the part `final`: stored beside their labels, as no view may show them."""

import json
from collections.abc import Iterable
from pathlib import Path

_FILE = "final_rows.json"


def write_final(labels_dir: Path, places: Iterable[int]) -> None:
    """Store the places of the rows of `final` in labels.csv and sample_validation.csv, from 0 below the header."""
    (labels_dir / _FILE).write_text(json.dumps(list(places)), encoding="utf-8")


def final_places(labels_dir: Path) -> frozenset[int]:
    """Return the places that `write_final` stored; empty if no rows are scored apart."""
    file = labels_dir / _FILE
    return frozenset(json.loads(file.read_bytes())) if file.is_file() else frozenset()
