"""Compares training rows with those to predict: equal ids and rows, groups that both have, missing values, ranges."""

import re
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from bot.evaluation.preview.column_lines import percent
from bot.evaluation.preview.profile import Column, clean, is_missing
from bot.evaluation.tables.csv_table import Rows
from bot.evaluation.views.groups import LIKE_AN_ID

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
        lines += notes[:_LINES] + ([f"… and {len(notes) - _LINES} more columns like that"] if notes[_LINES:] else [])
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
        meaning = "not always the same" if equal else "other rows: never join by id"
        meaning = "the same rows" if equal == len(shared) else meaning
        yield f"{len(shared):,} of the {len(part.ids):,} ids of {part.name} are ids of {train.name} too; they mean {meaning}."


def _row_lines(train: _Part, parts: Sequence[_Part]) -> Iterator[str]:
    first: dict[int, tuple[str, ...]] = {}
    repeat_count = relabelled = 0
    for row, label in zip(train.features, train.labels, strict=True):
        repeat_count += row in first
        relabelled += first.setdefault(row, label) != label
    if len(first) < _DISTINCT * len(train.features):
        yield f"The {len(train.features):,} rows of {train.name} have {len(first):,} different combinations of features."
        return
    if repeat_count:
        share = percent(repeat_count, len(train.features))
        yield (
            f"{repeat_count:,} rows of {train.name} ({share}) repeat an earlier one in all of the table's features, "
            f"{relabelled:,} of them with another label."
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
    are_complete = all(len(side) == len(ids[name]) and side for side, name in zip(sides, (train, test), strict=True))
    if not are_complete or not _FEWEST_PREFIXES <= len(groups[0]) <= len(sides[0]) / _REPEATS_PER_VALUE:
        return []
    shared = len(groups[0] & groups[1])
    return [
        f"Ids of {train} begin with {len(groups[0]):,} groups, such as {clean(sides[0][0])} of {clean(ids[train][0])}; those of "
        f"{test} with {len(groups[1]):,}, {shared:,} of them the same"
    ]


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
