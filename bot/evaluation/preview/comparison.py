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
_REPEATS_PER_VALUE = 1.5
"""Rows a value from which a column may name groups."""
_ALL = 0.98
"""Share of values that the training rows have too, from which there is nothing to say."""
_LOW_SHARE = 0.5
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
    name: str, train: Rows, tests: Mapping[str, Rows], ids: Sequence[str], targets: Sequence[str], profiles: Profiles
) -> list[str]:
    """Describe how the rows to predict differ from the training rows, or resemble them too much; most telling first.

    Rows to predict are given by their file's name. Raises UnsupportedLayout where a row cannot be read.
    """
    tests = {file: table for file, table in tests.items() if set(table.header) & set(train.header)}
    shared = [c for c in train.header if all(c in table.header for table in tests.values()) and c not in targets]
    # A time that identifies a row is a feature of it as well.
    features = [column for column in shared if column not in ids or profiles[name][column].kind == "time"]
    if not tests:
        return []
    groups = _may_group(features, [profiles[file] for file in (name, *tests)])
    trained = _read(name, train, ids, features, targets, groups)
    parts = [_read(file, table, ids, features, targets, groups) for file, table in tests.items()]
    lines = [line for part in parts for line in _id_lines(trained, part)]
    if features:
        lines += _row_lines(trained, parts)
    lines += _group_lines(trained, parts, groups, profiles[name])
    profiled = {column: [(file, profiles[file][column]) for file in (name, *tests)] for column in shared}
    for describe in (_missing_line, _time_line, _median_line):
        notes = [line for column, columns in profiled.items() if (line := describe(column, columns))]
        lines += notes[:_LINES] + ([f"… and {len(notes) - _LINES} more columns like these"] if notes[_LINES:] else [])
    return lines


def _may_group(features: Sequence[str], profiles: Sequence[Mapping[str, Column]]) -> list[str]:
    """Return columns of text or whole numbers whose values repeat, in training rows or in those to predict."""
    groups = []
    for name in features:
        columns = [by_name[name] for by_name in profiles if name in by_name and by_name[name].kind != "empty"]
        repeats = any(column.values.total() >= _REPEATS_PER_VALUE * len(column.values) for column in columns)
        if repeats and all(column.kind in ("text", "integer") for column in columns):
            groups.append(name)
    return groups[:_GROUPS]


def _read(
    file: str, table: Rows, ids: Sequence[str], features: Sequence[str], targets: Sequence[str], groups: Sequence[str]
) -> _Part:
    places = {name: place for place, name in enumerate(table.header)}
    part = _Part(file, [], [], [], {name: Counter() for name in groups})
    at_features, at_labels = [places[name] for name in features], [places[n] for n in targets if n in places]
    at_ids = [places[name] for name in ids] if set(ids) <= places.keys() else []
    at_groups = [(places[name], counter) for name, counter in part.groups.items()]
    for row in islice(table.rows(), max(1000, _CELLS // len(table.header))):
        part.features.append(hash(tuple([row[place] for place in at_features])))
        part.labels.append(tuple([row[place] for place in at_labels]))
        if at_ids:
            part.ids.append(hash(tuple([row[place] for place in at_ids])))
        for place, counter in at_groups:
            if not is_missing(row[place]):
                counter[row[place].strip()] += 1
    return part


def _id_lines(train: _Part, part: _Part) -> Iterator[str]:
    rows_by_id = dict(zip(train.ids, train.features, strict=False))
    shared = [(rows_by_id[key], row) for key, row in zip(part.ids, part.features, strict=False) if key in rows_by_id]
    if shared:
        equal = sum(a == b for a, b in shared)
        meaning = "not always for the same rows" if equal else "for different rows: never join by id"
        meaning = "for the same rows" if equal == len(shared) else meaning
        yield f"{len(shared):,} of the {len(part.ids):,} ids of {part.name} also occur in {train.name}, {meaning}."


def _row_lines(train: _Part, parts: Sequence[_Part]) -> Iterator[str]:
    first: dict[int, tuple[str, ...]] = {}
    repeat_count, pairs = 0, list[tuple[str, str]]()
    for row, label in zip(train.features, train.labels, strict=True):
        repeat_count += row in first
        if (earlier := first.setdefault(row, label)) != label:
            pairs.append((earlier[0], label[0]))
    if len(first) < _DISTINCT * len(train.features):
        yield f"The {len(train.features):,} rows of {train.name} have {len(first):,} different combinations of features."
        return
    if repeat_count:
        share = percent(repeat_count, len(train.features))
        yield (
            f"{repeat_count:,} rows of {train.name} ({share}) have the same feature values as an earlier row, "
            f"{len(pairs):,} of them with a different label{_label_distance(train, pairs)}."
        )
    counts = [(part, sum(row in first for row in part.features)) for part in parts]
    if any(count for _, count in counts):
        shares = [f"{count:,} of {part.name} ({percent(count, len(part.features))})" for part, count in counts]
        yield f"Rows that match a row of {train.name} in all features: {' and '.join(shares)}."


def prefix_lines(train: str, test: str, ids: Mapping[str, Sequence[str]]) -> list[str]:
    """Say how many groups ids begin with, as `patient3` in `patient3_7`, and how many of them both files have."""
    sides = [[match[1] for id in ids[name] if (match := _PREFIX.match(id))] for name in (train, test)]
    groups = [set(side) for side in sides]
    are_complete = all(len(side) == len(ids[name]) and side for side, name in zip(sides, (train, test), strict=True))
    if not are_complete or not _FEWEST_PREFIXES <= len(groups[0]) <= len(sides[0]) / _REPEATS_PER_VALUE:
        return []
    shared = len(groups[0] & groups[1])
    return [
        f"Ids of {train} have {len(groups[0]):,} prefixes, such as {clean(sides[0][0])} in {clean(ids[train][0])}; ids of "
        f"{test} have {len(groups[1]):,}, of which {shared:,} are shared"
    ]


def _label_distance(train: _Part, pairs: Sequence[tuple[str, str]]) -> str:
    """Say how far apart the first labels of equal rows are, over those of any two rows; nothing where they are no quantity."""
    labels = [read_number(label[0]) for label in train.labels if label]
    numbers = sorted(number for number in labels if number is not None and math.isfinite(number))
    number_pairs = [(read_number(a), read_number(b)) for a, b in pairs]
    if len(numbers) < len(labels) or len(pairs) < _FEWEST_PAIRS or len(set(numbers)) <= _CLASSES:
        return ""
    count = len(numbers)
    usual = 2 * sum((2 * rank - count + 1) * number for rank, number in enumerate(numbers)) / (count * (count - 1))
    mean = sum(abs(a - b) for a, b in number_pairs if a is not None and b is not None) / len(pairs)
    return f" ({mean / usual:.0%} as far apart as the labels of any two rows)" if usual > 0 else ""


def _group_lines(
    train: _Part, parts: Sequence[_Part], groups: Sequence[str], columns: Mapping[str, Column]
) -> Iterator[str]:
    lines_by_share: list[tuple[float, str]] = []
    for name in groups:
        sentences, lowest = [], 1.0
        for part in parts:
            values = part.groups[name]
            shared = [value for value in values if value in train.groups[name]]
            if not values:
                continue
            lowest = min(lowest, len(shared) / len(values))
            rows = percent(sum(values[value] for value in shared), values.total())
            share_text, of_rows = (f"{len(shared):,}", f" ({rows} of its rows)") if shared else ("none", "")
            sentences.append(f"{share_text} of the {len(values):,} values in {part.name}{of_rows}")
        worth_a_line = columns[name].kind == "text" or LIKE_AN_ID.search(name) or lowest < _LOW_SHARE
        if lowest < _ALL and worth_a_line:
            lines_by_share.append((lowest, f"{clean(name)}: {train.name} has {', and '.join(sentences)}"))
    yield from (line for _, line in sorted(lines_by_share)[:_LINES])


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
    distance = max(abs(median - medians[0][1]) for _, median in medians)
    if distance <= _MEDIANS_APART * (quarters[2] - quarters[0]):
        return None
    return f"{clean(name)}: median {', '.join(f'{median:g} in {file}' for file, median in medians)}"


_ROWS = 2_000
"""Rows of each table that are looked at."""
_FEWEST = 200
_MOST_COLUMNS = 60
_SAMPLED_CELLS = 1_000_000
"""Cells of a table that are read to take its rows from."""
_ALIKE_AUC, _APART_AUC = 0.55, 0.60
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
    kinds = {name: columns[name].kind for name in names}
    word_columns = {name for name in names if kinds[name] == "text" and len(columns[name].values) <= _CATEGORIES}
    usable = [name for name in names if name in word_columns or kinds[name] in ("integer", "number")][:_MOST_COLUMNS]
    sides = [_sampled_rows(table, usable) for _, table in (train, test)]
    if not usable or min(map(len, sides)) < _FEWEST:
        return []
    cells = zip(*sides[0], *sides[1], strict=True)
    features = np.column_stack([_numbers(column, kinds[name]) for name, column in zip(usable, cells, strict=True)])
    area, shares = _told_apart(features, len(sides[0]))
    if area < _ALIKE_AUC:
        return [f"The features do not separate rows of {test[0]} from rows of {train[0]} (AUC at most {area:.2f})."]
    if area < _APART_AUC:
        return []
    order = [i for i in np.argsort(-shares, kind="stable")[:5] if shares[i] >= _MOSTLY]
    main_columns = [f"{clean(usable[i])} ({percent(round(1000 * shares[i]), 1000)})" for i in order]
    column_words = f", mostly by {', '.join(main_columns)}" if main_columns else ""
    return [f"A classifier separates rows of {test[0]} from rows of {train[0]} (AUC {area:.2f}){column_words}."]


def _sampled_rows(table: Rows, names: Sequence[str]) -> list[list[str]]:
    """Return the cells of a few rows, evenly spread over those that are read."""
    places = [table.header.index(name) for name in names]
    rows = list(islice(table.rows(), _SAMPLED_CELLS // len(table.header)))
    step = max(1, len(rows) // _ROWS)
    return [[row[place] for place in places] for row in rows[::step][:_ROWS]]


def _numbers(cells: Sequence[str], kind: str) -> Matrix:
    """Return a column as numbers: categories by how common they are."""
    if kind == "text":
        common = {cell: place for place, (cell, _) in enumerate(Counter(cells).most_common())}
        return np.array([float(common[cell]) for cell in cells])
    read = (None if is_missing(cell) else read_number(cell) for cell in cells)
    numbers = np.array([np.nan if number is None else number for number in read], dtype=float)
    # Trees take no infinite numbers; what is missing lies below all others.
    return np.asarray(np.clip(np.nan_to_num(numbers, nan=-1e30, posinf=1e30, neginf=-1e30), -1e30, 1e30))


def _told_apart(features: Matrix, first: int) -> tuple[float, Matrix]:
    """Return the area under the curve of a forest that tells the first rows from the others, and each column's share."""
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.metrics import roc_auc_score

    side = (np.arange(len(features)) >= first).astype(int)
    fold = np.random.default_rng(0).permutation(len(features)) % 2
    areas, shares = [], np.zeros(features.shape[1])
    for held_out in (0, 1):
        forest = ExtraTreesClassifier(40, max_depth=8, min_samples_leaf=5, max_features=0.5, random_state=0, n_jobs=1)
        forest.fit(features[fold != held_out], side[fold != held_out])
        guesses = forest.predict_proba(features[fold == held_out])[:, 1]
        areas.append(float(roc_auc_score(side[fold == held_out], guesses)))
        shares += forest.feature_importances_ / 2
    return sum(areas) / 2, shares
