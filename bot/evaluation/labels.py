"""Labels as text: when two of them mean the same."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapers.snapshots.tables import read_number


def canonical_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Return an array of objects with `canonical_label` of each cell."""
    canonical: NDArray[Any] = np.empty(labels.shape, dtype=object)
    for at, label in np.ndenumerate(labels):
        canonical[at] = canonical_label(label)
    return canonical


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
