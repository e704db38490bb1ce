"""Compares training rows with those to predict: equal ids and rows, groups that both have, missing values, ranges."""

import math
import re
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.preview.column_lines import percent
from bot.evaluation.preview.profile import Column, clean, is_missing
from bot.evaluation.tables.csv_table import Rows
from bot.evaluation.views.groups import LIKE_AN_ID
from scrapers.snapshots.tables import read_number

Profiles = Mapping[str, Mapping[str, Column]]
"""Columns by name, by the name of their file."""

Profiled = Sequence[tuple[str, Column]]
"""One column of each file, by the name of the file."""

_CELLS = 3_000_000
"""Cells of a table that are read, which takes seconds."""
_GROUPS = 30
"""Columns whose values are looked for among the training rows, at most."""
_REPEATED = 1.5
"""Rows a value from which a column may name groups."""
_ALL = 0.98
"""Share of values that the training rows have too, from which there is nothing to say."""
_MOST = 0.5
"""Share of values that the training rows have too, below which a column of other whole numbers is worth a word."""
_DISTINCT = 0.5
"""Share of training rows that are unlike all others, below which equal rows are no copies."""
_MISSING_APART = 0.03
_MEDIANS_APART = 0.5
"""Of the middle half's width in the training rows."""
_LINES = 8
_PREFIX = re.compile(r"(.+?)[_\-./:| ][^_\-./:| ]+$")
_FEWEST_PREFIXES = 10
_FEWEST_PAIRS = 20
_CLASSES = 20
"""Distinct numbers up to which labels count as classes."""


@dataclass(frozen=True)
class _Part:
    """The rows of a table: hashes of features and of keys, and labels."""

    name: str
    features: list[int]
    labels: list[tuple[str, ...]]
    ids: list[int]
    groups: Mapping[str, Counter[str]]
    """Values of columns that may name groups."""


def comparison_lines(
    name: str, train: Rows, asked: Mapping[str, Rows], ids: Sequence[str], targets: Sequence[str], profiles: Profiles
) -> list[str]:
    """Describe how the rows to predict differ from the training rows, or resemble them too much; most telling first.

    Rows to predict are given by their file's name. Raises UnsupportedLayout where a row cannot be read.
    """
    asked = {file: table for file, table in asked.items() if set(table.header) & set(train.header)}
    shared = [c for c in train.header if all(c in table.header for table in asked.values()) and c not in targets]
    # A time that identifies a row is a feature of it as well.
    features = [column for column in shared if column not in ids or profiles[name][column].kind == "time"]
    if not asked:
        return []
    groups = _may_group(features, [profiles[file] for file in (name, *asked)])
    trained = _read(name, train, ids, features, targets, groups)
    parts = [_read(file, table, ids, features, targets, groups) for file, table in asked.items()]
    lines = [line for part in parts for line in _id_lines(trained, part)]
    if features:
        lines += _row_lines(trained, parts)
    lines += _group_lines(trained, parts, groups, profiles[name])
    profiled = {column: [(file, profiles[file][column]) for file in (name, *asked)] for column in shared}
    for describe in (_missing_line, _time_line, _median_line):
        found = [line for column, columns in profiled.items() if (line := describe(column, columns))]
        lines += found[:_LINES] + ([f"… and {len(found) - _LINES} more columns like that"] if found[_LINES:] else [])
    return lines


def _may_group(features: Sequence[str], profiles: Sequence[Mapping[str, Column]]) -> list[str]:
    """Return columns of text or whole numbers whose values repeat, in training rows or in those to predict."""
    found = []
    for name in features:
        columns = [known[name] for known in profiles if name in known and known[name].kind != "empty"]
        repeated = any(column.values.total() >= _REPEATED * len(column.values) for column in columns)
        if repeated and all(column.kind in ("text", "integer") for column in columns):
            found.append(name)
    return found[:_GROUPS]


def _read(
    file: str, table: Rows, ids: Sequence[str], features: Sequence[str], targets: Sequence[str], groups: Sequence[str]
) -> _Part:
    places = {name: at for at, name in enumerate(table.header)}
    part = _Part(file, [], [], [], {name: Counter() for name in groups})
    at_features, at_labels = [places[name] for name in features], [places[n] for n in targets if n in places]
    at_ids = [places[name] for name in ids] if set(ids) <= places.keys() else []
    at_groups = [(places[name], counter) for name, counter in part.groups.items()]
    for row in islice(table.rows(), max(1000, _CELLS // len(table.header))):
        part.features.append(hash(tuple([row[at] for at in at_features])))
        part.labels.append(tuple([row[at] for at in at_labels]))
        if at_ids:
            part.ids.append(hash(tuple([row[at] for at in at_ids])))
        for at, counter in at_groups:
            if not is_missing(row[at]):
                counter[row[at].strip()] += 1
    return part


def _id_lines(train: _Part, part: _Part) -> Iterator[str]:
    known = dict(zip(train.ids, train.features, strict=False))
    both = [(known[key], row) for key, row in zip(part.ids, part.features, strict=False) if key in known]
    if both:
        equal = sum(left == right for left, right in both)
        what = "not always the same" if equal else "other rows: never join by id"
        what = "the same rows" if equal == len(both) else what
        yield f"{len(both):,} of the {len(part.ids):,} ids of {part.name} are ids of {train.name} too; they mean {what}."


def _row_lines(train: _Part, parts: Sequence[_Part]) -> Iterator[str]:
    first: dict[int, tuple[str, ...]] = {}
    repeated, pairs = 0, list[tuple[str, str]]()
    for row, label in zip(train.features, train.labels, strict=True):
        repeated += row in first
        if (earlier := first.setdefault(row, label)) != label:
            pairs.append((earlier[0], label[0]))
    if len(first) < _DISTINCT * len(train.features):
        yield f"The {len(train.features):,} rows of {train.name} have {len(first):,} different combinations of features."
        return
    if repeated:
        share = percent(repeated, len(train.features))
        yield (
            f"{repeated:,} rows of {train.name} ({share}) repeat an earlier one in all of the table's features, "
            f"{len(pairs):,} of them with another label{_label_distance(train, pairs)}."
        )
    counts = [(part, sum(row in first for row in part.features)) for part in parts]
    if any(count for _, count in counts):
        shares = " and ".join(
            f"{count:,} of {part.name} ({percent(count, len(part.features))})" for part, count in counts
        )
        yield f"Rows with all the features of a row of {train.name}: {shares}."


def prefix_lines(train: str, test: str, ids: Mapping[str, Sequence[str]]) -> list[str]:
    """Say how many groups ids begin with, as `patient3` in `patient3_7`, and how many of them both files have."""
    sides = [[match[1] for id in ids[name] if (match := _PREFIX.match(id))] for name in (train, test)]
    groups = [set(side) for side in sides]
    whole = all(len(side) == len(ids[name]) and side for side, name in zip(sides, (train, test), strict=True))
    if not whole or not _FEWEST_PREFIXES <= len(groups[0]) <= len(sides[0]) / _REPEATED:
        return []
    shared = len(groups[0] & groups[1])
    return [
        f"Ids of {train} begin with {len(groups[0]):,} groups, such as {clean(sides[0][0])} of {clean(ids[train][0])}; those of "
        f"{test} with {len(groups[1]):,}, {shared:,} of them the same"
    ]


def _label_distance(train: _Part, pairs: Sequence[tuple[str, str]]) -> str:
    """Say how far apart the first labels of equal rows are, over those of any two rows; nothing where they are no quantity."""
    labels = [read_number(label[0]) for label in train.labels if label]
    known = sorted(number for number in labels if number is not None and math.isfinite(number))
    apart = [(read_number(one), read_number(other)) for one, other in pairs]
    if len(known) < len(labels) or len(pairs) < _FEWEST_PAIRS or len(set(known)) <= _CLASSES:
        return ""
    count = len(known)
    usual = 2 * sum((2 * at - count + 1) * number for at, number in enumerate(known)) / (count * (count - 1))
    mean = sum(abs(one - other) for one, other in apart if one is not None and other is not None) / len(pairs)
    return f" ({mean / usual:.0%} as far apart as those of any two rows)" if usual > 0 else ""


def _group_lines(
    train: _Part, parts: Sequence[_Part], groups: Sequence[str], columns: Mapping[str, Column]
) -> Iterator[str]:
    found: list[tuple[float, str]] = []
    for name in groups:
        sentences, least = [], 1.0
        for part in parts:
            values = part.groups[name]
            known = [value for value in values if value in train.groups[name]]
            if not values:
                continue
            least = min(least, len(known) / len(values))
            rows = percent(sum(values[value] for value in known), values.total())
            some, of_rows = (f"{len(known):,}", f" ({rows} of its rows)") if known else ("none", "")
            sentences.append(f"{some} of the {len(values):,} values in {part.name}{of_rows}")
        worth_a_line = columns[name].kind == "text" or LIKE_AN_ID.search(name) or least < _MOST
        if least < _ALL and worth_a_line:
            found.append((least, f"{clean(name)}: {train.name} has {', and '.join(sentences)}"))
    yield from (line for _, line in sorted(found)[:_LINES])


def _missing_line(name: str, columns: Profiled) -> str | None:
    shares = [column.missing / max(1, column.rows) for _, column in columns]
    if max(abs(share - shares[0]) for share in shares) < _MISSING_APART:
        return None
    shares_missing = ", ".join(f"{percent(column.missing, column.rows)} of {file}" for file, column in columns)
    return f"{clean(name)} is missing in {shares_missing}"


def _time_line(name: str, columns: Profiled) -> str | None:
    spans = [f"{clean(column.span[0])} to {clean(column.span[1])} in {file}" for file, column in columns if column.span]
    return f"{clean(name)}: {', '.join(spans)}" if len(spans) > 1 else None


def _median_line(name: str, columns: Profiled) -> str | None:
    if any(len(column.numbers) < 2 for _, column in columns) or LIKE_AN_ID.search(name):
        return None
    quarters = statistics.quantiles(columns[0][1].numbers, n=4, method="inclusive")
    medians = [(file, statistics.median(column.numbers)) for file, column in columns]
    apart = max(abs(median - medians[0][1]) for _, median in medians)
    if apart <= _MEDIANS_APART * (quarters[2] - quarters[0]):
        return None
    return f"{clean(name)}: median {', '.join(f'{median:g} in {file}' for file, median in medians)}"


_ROWS = 2_000
"""Rows of each table that are looked at."""
_FEWEST = 200
_MOST_COLUMNS = 60
_SAMPLED_CELLS = 1_000_000
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
    sides = [_sampled_rows(table, usable) for _, table in (train, test)]
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


def _sampled_rows(table: Rows, names: Sequence[str]) -> list[list[str]]:
    """Return the cells of a few rows, evenly spread over those that are read."""
    at = [table.header.index(name) for name in names]
    rows = list(islice(table.rows(), _SAMPLED_CELLS // len(table.header)))
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
