"""Reads and validates a prediction file against its sample: one clear sentence on what is wrong with it."""

import csv
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.bounds import Bounds, value_bounds
from bot.evaluation.directions import PredictionKind, prediction_kind
from bot.evaluation.tables import read_table
from scrapers.card import TaskCard
from state.errors import InvalidSubmission

_NO_LABEL = frozenset({"", "nan"})
_NO_NUMBER = _NO_LABEL | {"na", "n/a", "null", "none", "<na>"}
_SHOWN = 60
_SLACK_BYTES, _TIMES_SAMPLE = 10_000_000, 100
"""A file of the sample's rows is never larger than this; what is could exhaust the memory of the reader."""


def read_submission(path: Path, sample_path: Path, card: TaskCard) -> tuple[list[str], NDArray[Any]]:
    """Read a prediction file in the order of its sample.

    Ids are compared as text, exactly as the sample writes them; the order of rows and columns is free.

    Returns:
        The sample's ids, and an array (rows, prediction columns): floats, or objects (text) where predictions are
        labels or text.

    Raises:
        InvalidSubmission: the file cannot be scored; the text names the row (from 1, below the header) and column.
    """
    sample = read_table(sample_path)
    ids = sample.column(card.id_column)
    most = _SLACK_BYTES + _TIMES_SAMPLE * sample_path.stat().st_size
    if path.is_file() and path.stat().st_size > most:
        raise InvalidSubmission(f"{path.name} has {path.stat().st_size:,} bytes; at most {most:,} are sensible.")
    with _rows(path) as (header, rows):
        _check_header(header, sample.header, path.name, card)
        return ids, _collect(rows, header, ids, path.name, card, strict=True)


def read_truth(path: Path, ids: Sequence[str], card: TaskCard) -> NDArray[Any]:
    """Read answers or labels for those ids; other columns and other rows are ignored.

    Raises:
        InvalidSubmission: an id or a value is missing, so that the file cannot serve as the truth.
    """
    with _rows(path) as (header, rows):
        for column in (card.id_column, *card.prediction_columns):
            if column not in header:
                raise InvalidSubmission(f"{path.name} has no column {column!r}.")
        return _collect(rows, header, ids, path.name, card, strict=False)


@contextmanager
def _rows(path: Path) -> Iterator[tuple[Sequence[str], Iterator[list[str]]]]:
    """Open a comma-separated UTF-8 file; what goes wrong while it is read is the file's fault."""
    if not path.is_file():
        raise InvalidSubmission(f"{path.name} does not exist.")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            header = next(reader, None)
            if not header:
                raise InvalidSubmission(f"{path.name} is empty.")
            yield header, reader
    except UnicodeDecodeError as error:
        raise InvalidSubmission(f"{path.name} is not UTF-8 text (byte {error.start}).") from error
    except csv.Error as error:
        raise InvalidSubmission(f"{path.name} cannot be read as CSV: {error}.") from error


def _check_header(header: Sequence[str], expected: Sequence[str], name: str, card: TaskCard) -> None:
    wanted = (card.id_column, *card.prediction_columns)
    repeated = sorted({column for column in header if header.count(column) > 1})
    missing = [column for column in wanted if column not in header]
    extra = [column for column in header if column not in wanted and column not in expected]
    for columns, fault in ((repeated, "has more than once"), (missing, "lacks"), (extra, "should not have")):
        if columns:
            shown = ", ".join(map(_short, columns[:3])) + (f" and {len(columns) - 3} more" if len(columns) > 3 else "")
            raise InvalidSubmission(
                f"{name} {fault} the column{'s' if len(columns) > 1 else ''} {shown}; expected are {_listed(wanted)}."
            )


def _collect(
    rows: Iterator[list[str]], header: Sequence[str], ids: Sequence[str], name: str, card: TaskCard, *, strict: bool
) -> NDArray[Any]:
    """Place each row's values where its id stands in `ids`; equal ids are filled in order of appearance."""
    places: dict[str, list[int]] = {}
    for place in range(len(ids) - 1, -1, -1):
        places.setdefault(ids[place], []).append(place)
    kind = prediction_kind(card)
    shape = (len(ids), len(card.prediction_columns))
    values: NDArray[Any] = np.empty(shape, dtype=float if kind == "number" else object)
    id_at = header.index(card.id_column)
    columns = [(column, header.index(column)) for column in card.prediction_columns]
    bounds = value_bounds(card) if strict else Bounds()
    count = 0
    for number, row in enumerate(rows, 1):
        if not row:
            continue
        if len(row) != len(header):
            raise InvalidSubmission(f"{name}, row {number}: {len(row)} cells where the header has {len(header)}.")
        count += 1
        free = places.get(row[id_at])
        if free:
            where = f"{name}, row {number} (id {_short(row[id_at])})"
            values[free.pop()] = [_cell(row[at], column, where, bounds, kind) for column, at in columns]
        elif strict:
            _reject_id(row[id_at], ids, known=free is not None, where=f"{name}, row {number}")
    left = next((identifier for identifier in ids if places[identifier]), None)
    if left is not None:
        raise InvalidSubmission(
            f"{name} has {count} rows where {len(ids)} are expected; the first missing id is {_short(left)}."
        )
    return values


def _reject_id(identifier: str, ids: Sequence[str], *, known: bool, where: str) -> None:
    if known:
        raise InvalidSubmission(f"{where}: the id {_short(identifier)} appears too often.")
    raise InvalidSubmission(
        f"{where}: the id {_short(identifier)} is not in the sample, whose {len(ids)} ids are written like "
        f"{_short(ids[0]) if ids else 'nothing'}."
    )


def _cell(text: str, column: str, where: str, bounds: Bounds, kind: PredictionKind) -> float | str:
    if kind == "text":
        return text
    if text.strip().lower() in (_NO_LABEL if kind == "label" else _NO_NUMBER):
        raise InvalidSubmission(f"{where}: the value of {_short(column)} is missing ({_short(text)}).")
    if kind == "label":
        return text
    try:
        # float() also takes `1_000` and digits of other scripts, which no grader would.
        value = float(text) if text.isascii() and "_" not in text else None
    except ValueError:
        value = None
    if value is None:
        raise InvalidSubmission(f"{where}: the value of {_short(column)} is not a number: {_short(text)}.")
    if not math.isfinite(value):
        raise InvalidSubmission(f"{where}: the value of {_short(column)} is not finite: {_short(text)}.")
    if not bounds.low <= value <= bounds.high:
        raise InvalidSubmission(f"{where}: the value of {_short(column)} is {_short(text)}, but {bounds.reason}.")
    return value


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def _listed(columns: Sequence[str]) -> str:
    shown = ", ".join(columns[:5])
    return shown if len(columns) <= 5 else f"{shown} and {len(columns) - 5} more"
