"""When two labels are the same: as numbers where both are numbers (`1` is `1.0`), and else as texts without their blanks."""

from collections.abc import Callable
from typing import Any

import numpy as np

from bot.evaluation.metrics.arrays import Values
from scrapers.snapshots.tables import read_number


def canonical_labels(labels: Values) -> Values:
    """Return an array of objects with `canonical_label` of each cell."""
    canonical: Values = np.empty(labels.size, dtype=object)
    canonical[:] = each_cell(labels, canonical_label)
    return canonical.reshape(labels.shape)


def canonical_label(label: object) -> object:
    """Return the number that a label's text spells, or else the text without surrounding blanks."""
    text = str(label).strip()
    value = read_number(text)
    if value is None:
        return text
    try:
        return int(text)  # exact, however long
    except ValueError:
        return value


def each_cell(labels: Values, function: Callable[[object], Any]) -> list[Any]:
    """Return what a function makes of each cell, row by row; it is asked once a label, in the order in which they first occur."""
    cells = labels.ravel().tolist()
    results = {label: function(label) for label in dict.fromkeys(cells)}
    return [results[label] for label in cells]


def equal_labels(first: Values, second: Values) -> float:
    """Return the share of cells that hold the same label."""
    return float(np.equal(canonical_labels(first), canonical_labels(second)).mean())
