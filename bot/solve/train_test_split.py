"""Split one table into training and test rows: those without a target, or else some that are withheld for scoring."""

import random
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TypeVar

from bot.solve.columns import group_of
from bot.solve.solve_options import Confidence, DetectedTask, SolveOptions
from bot.solve.tables.cell_formats import NumberFormat
from bot.solve.tables.user_table import UserTable
from bot.solve.task import Kind
from scrapers.snapshots.tables import write_table
from scrapers.snapshots.times import parse_times
from state.errors import UsageError
from state.words import plural

_SHARE = 0.2
_SEED = "own data"
_HEAD_ROWS = 200
"""Rows that are checked for times before a whole column is read."""
_DATED_SHARE = 0.8
"""Minimum share of rows with a date; rows without one are not test rows."""
_MIN_TIMES = 20
"""Distinct times: with fewer, the latest rows would be those of one or two times."""
_TIME_NAME = re.compile(
    r"(?:^|[\W_])(?:date|day|ds|dt|time|timestamp|datetime|month|week|hour|period)$|^(?:date|datetime|timestamp|time)",
    re.IGNORECASE,
)
_BARE = re.compile(r"^(\d{4})(\d\d)(\d\d)$")

Item = TypeVar("Item")


@dataclass(frozen=True)
class TrainTestSplit:
    """The test rows of one table, by number from 0."""

    test: frozenset[int]
    answered: bool
    """Whether their targets are known, so that the result can be scored."""
    method: str
    """How they were chosen, in a clause."""


def with_unlabelled_rows(train: UserTable, target: str, out: Path) -> UserTable:
    """Add all rows without the target, which are to be predicted, to a table that was read in part."""
    if not train.is_part or all(train.column(target)):
        return train
    all_rows = UserTable.read(train.path, has_header=train.has_header, formats=train.formats).without_time_of(target)
    stride = all_rows.length // train.length
    rows = zip(all_rows.column(target), all_rows.without_formats(all_rows.header).rows(), strict=True)
    write_table(out, all_rows.header, (raw for row, (cell, raw) in enumerate(rows) if not cell or row % stride == 0))
    table = UserTable.read(out, has_header=True, formats=train.formats)
    return replace(table, path=train.path, has_header=train.has_header)


def split_table(
    train: UserTable, target: str, kind: Kind, options: SolveOptions, detected: DetectedTask
) -> TrainTestSplit:
    """Choose the test rows of a table.

    Raises UsageError: a named column is missing, or its cells are not times.
    """
    cells = list(train.column(target))
    empty = frozenset(row for row, cell in enumerate(cells) if not cell)
    if empty:
        detected.add("test rows", f"the {plural(len(empty), 'row')} without `{target}`")
        return TrainTestSplit(empty, answered=False, method=f"the rows of {train.name} without {target}")
    confidence: Confidence = "sure"
    if options.time is not None:
        test, method = _latest(train, options.time), f"the latest rows by {options.time}"
    elif not options.shuffle and (column := _time_column(train, target)) is not None:
        test, confidence = _latest(train, column), "likely"
        method = f"the latest rows by {column} (use --shuffle if the rows to predict are from the same period)"
    elif (group := group_of(train, target, options, detected)) is not None:
        test, method = _groups(list(train.column(group))), f"whole groups by {group}"
        confidence = "sure" if options.group else "likely"
    else:
        test, method = _by_target(cells, kind), "rows sampled at random, stratified by the target"
    sentence = f"{plural(len(test), 'row')} of {train.name}, withheld to score the result: {method}"
    detected.add("test rows", sentence, confidence)
    return TrainTestSplit(test, answered=True, method=method)


def _time_column(train: UserTable, target: str) -> str | None:
    """Return the column with the time of a row: it has many times, and is named like a time or orders the table."""
    head = list(islice(train.rows(), _HEAD_ROWS))
    for place, name in enumerate(train.header):
        is_number = isinstance(train.formats.get(name), NumberFormat)
        if name == target or is_number or parse_times([cells[place] for cells in head if cells[place]]) is None:
            continue
        cells = list(train.column(name))
        times = parse_times([cell for cell in cells if cell])
        if times is None or len(set(times)) < _MIN_TIMES or len(times) < _DATED_SHARE * len(cells):
            continue
        in_order = sorted(times)
        is_of_rows = _TIME_NAME.search(name) or times in (in_order, in_order[::-1])
        if is_of_rows and 2 * sum(time >= _first_late(in_order) for time in times) < len(times):
            return name
    return None


def _first_late(in_order: Sequence[float]) -> float:
    """Return the time from which rows count as the latest."""
    return in_order[-max(1, round(_SHARE * len(in_order)))]


def _latest(train: UserTable, column: str) -> frozenset[int]:
    if column not in train.header:
        raise UsageError(f"--time-column {column}: {train.name} has no such column")
    # As the column is named as one of times, 20171025 is a date.
    cells = [_BARE.sub(r"\1-\2-\3", cell.strip()) for cell in train.column(column)]
    known_times = parse_times([cell for cell in cells if cell])
    if known_times is None:
        for number, cell in enumerate(cells, 1):
            if cell and parse_times([cell]) is None:
                raise UsageError(
                    f"--time-column {column}: {cell[:40]!r} in row {number} of {train.name} is not a time such as "
                    "2017-10-25, 2017-10-25T14:03 or 25.10.2017"
                )
        raise UsageError(f"--time-column {column}: {train.name} has times in several formats")
    first, later = _first_late(sorted(known_times)), iter(known_times)
    test = frozenset(row for row, cell in enumerate(cells) if cell and next(later) >= first)
    if len(test) == len(known_times):
        raise UsageError(f"--time-column {column}: too many rows of {train.name} have the same time")
    return test


def _groups(cells: Sequence[str]) -> frozenset[int]:
    members: dict[str, list[int]] = defaultdict(list)
    for row, cell in enumerate(cells):
        members[cell].append(row)
    test: list[int] = []
    for group in _shuffled(sorted(members)):
        if len(test) + len(members[group]) / 2 > _SHARE * len(cells) and test:
            break
        test += members[group]
    return frozenset(test)


def _by_target(cells: Sequence[str], kind: Kind) -> frozenset[int]:
    """Sample one row from each run of a few rows in the order of the target."""
    rows = _shuffled(range(len(cells)))
    in_order = sorted(rows, key=lambda row: (float(cells[row]) if kind == "quantity" else 0.0, cells[row].strip()))
    size = round(1 / _SHARE)
    return frozenset(_shuffled(in_order[start : start + size])[0] for start in range(0, len(in_order), size))


def _shuffled(items: Sequence[Item]) -> list[Item]:
    shuffled = list(items)
    random.Random(f"{_SEED}/{len(shuffled)}").shuffle(shuffled)  # noqa: S311 (repeatable, not secret)
    return shuffled
