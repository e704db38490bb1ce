"""Whether a quick classifier can tell test rows from training rows by their features, and by which."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.preview.column_lines import percent
from bot.evaluation.preview.profile import Column, clean, is_missing
from bot.evaluation.tables.csv_table import Rows
from scrapers.snapshots.tables import read_number

_ROWS = 2_000
"""Rows of each table that are looked at."""
_FEWEST = 200
_MOST_COLUMNS = 60
_CELLS = 1_000_000
"""Cells of a table that are read to take its rows from."""
_ALIKE, _APART = 0.55, 0.60
"""Areas under the curve below which nothing tells rows apart, and above which something does."""
_MOSTLY = 0.10
"""Share of the classifier's work from which a column is named."""
_CATEGORIES = 500

Matrix = NDArray[np.float64]


def drift_lines(
    train: tuple[str, Rows], test: tuple[str, Rows], names: Sequence[str], columns: Mapping[str, Column]
) -> list[str]:
    """Say how well test rows can be told from training rows, by a forest on a few rows of each; times and texts are left out.

    `columns` are those of the training rows.
    """
    usable = [name for name in names if _is_usable(columns[name])][:_MOST_COLUMNS]
    sides = [_sample(table, usable) for _, table in (train, test)]
    if not usable or min(map(len, sides)) < _FEWEST:
        return []
    cells = zip(*sides[0], *sides[1], strict=True)
    features = np.column_stack(
        [_numbers(column, columns[name].kind) for name, column in zip(usable, cells, strict=True)]
    )
    area, shares = _told_apart(features, len(sides[0]))
    if area < _ALIKE:
        return [f"Nothing in the features tells rows of {test[0]} from those of {train[0]} (AUC {area:.2f} at best)."]
    if area < _APART:
        return []
    order = np.argsort(-shares, kind="stable")[:5]
    named = [
        f"{clean(usable[at])} ({percent(round(1000 * shares[at]), 1000)})" for at in order if shares[at] >= _MOSTLY
    ]
    by = f", mostly by {', '.join(named)}" if named else ""
    return [f"A classifier tells rows of {test[0]} from those of {train[0]} with an AUC of {area:.2f}{by}."]


def _is_usable(column: Column) -> bool:
    if column.kind == "text":
        return len(column.values) <= _CATEGORIES
    return column.kind in ("integer", "number")


def _sample(table: Rows, names: Sequence[str]) -> list[list[str]]:
    """Return the cells of a few rows, evenly spread over those that are read."""
    at = [table.header.index(name) for name in names]
    rows = list(islice(table.rows(), _CELLS // len(table.header)))
    step = max(1, len(rows) // _ROWS)
    return [[row[place] for place in at] for row in rows[::step][:_ROWS]]


def _numbers(cells: Sequence[str], kind: str) -> Matrix:
    """Return a column as numbers: categories by how common they are."""
    if kind == "text":
        common = {cell: place for place, (cell, _) in enumerate(Counter(cells).most_common())}
        return np.array([float(common[cell]) for cell in cells])
    read = (None if is_missing(cell) else read_number(cell) for cell in cells)
    numbers = np.array([np.nan if number is None else number for number in read], dtype=float)
    # Trees take no infinite numbers; what is missing lies below all others.
    filled: Matrix = np.clip(np.nan_to_num(numbers, nan=-1e30, posinf=1e30, neginf=-1e30), -1e30, 1e30)
    return filled


def _told_apart(features: Matrix, first: int) -> tuple[float, Matrix]:
    """Return the area under the curve of a forest that tells the first rows from the others, and each column's share."""
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.metrics import roc_auc_score

    side = (np.arange(len(features)) >= first).astype(int)
    fold = np.random.default_rng(0).permutation(len(features)) % 2
    areas, shares = [], np.zeros(features.shape[1])
    for held in (0, 1):
        forest = ExtraTreesClassifier(40, max_depth=8, min_samples_leaf=5, max_features=0.5, random_state=0, n_jobs=1)
        forest.fit(features[fold != held], side[fold != held])
        guesses = forest.predict_proba(features[fold == held])[:, 1]
        areas.append(float(roc_auc_score(side[fold == held], guesses)))
        shares += forest.feature_importances_ / 2
    return sum(areas) / 2, shares
