"""Reads and validates a prediction file against its sample: one clear sentence on each fault."""

import math
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.metrics.registry import Bounds, PredictionKind, prediction_bounds, prediction_kind
from bot.evaluation.tables.csv_table import read_table
from bot.evaluation.tables.untrusted_csv import CsvReadLimits, UntrustedRows, foreign_bytes, open_rows, short
from scrapers.snapshots.card import TaskCard
from scrapers.snapshots.tables import read_number, row_key, shown_key
from state.errors import InvalidSubmission

_NO_LABEL = frozenset({"", "nan"})
_NO_NUMBER = _NO_LABEL | {"na", "n/a", "null", "none", "<na>"}
_TIMES_SAMPLE = 100
_SLACK_BYTES, _SLACK_BYTES_OF_TEXT = 10_000_000, 100_000_000
"""A file of the sample's rows is never larger than so many times the sample and this; reading more could exhaust the memory."""
_ROW, _ROW_OF_TEXT = 1 << 20, 1 << 23
"""Characters of a row; one cell of text may hold the run lengths of a mask of a gigapixel."""
_EACH_TEXT = 100
"""Bytes that a short text takes in memory."""
_TRUSTED = CsvReadLimits(file_bytes=1 << 40, row_characters=_ROW_OF_TEXT)
OF_OTHERS = CsvReadLimits(file_bytes=1 << 30, row_characters=_ROW_OF_TEXT)
"""For foreign files without a sample to expect them by."""


_ALREADY_READ = -1
"""The place of an id whose rows have all been taken."""


def read_submission(path: Path, sample_path: Path, card: TaskCard) -> tuple[list[str], NDArray[Any]]:
    """Read a prediction file in the order of its sample.

    Ids are compared as text, exactly as the sample writes them; the order of rows and columns is free. Whatever the
    file holds, time and memory are bounded by what its sample lets expect.

    Returns:
        The sample's ids, and an array (rows, prediction columns): floats, or objects (text) where predictions are
        labels or text.

    Raises:
        InvalidSubmission: the file cannot be scored; the text names the row (from 1, below the header) and column.
        UnsupportedLayout: the sample, which is ours and trusted, cannot be read.
    """
    sample = read_table(sample_path)
    ids = sample.keys(card.row_columns)
    slack, row = (_SLACK_BYTES_OF_TEXT, _ROW_OF_TEXT) if prediction_kind(card) == "text" else (_SLACK_BYTES, _ROW)
    limits = CsvReadLimits(
        file_bytes=slack + _TIMES_SAMPLE * sample_path.stat().st_size,
        row_characters=row + _TIMES_SAMPLE * sum(map(len, sample.header)),
    )
    with open_rows(path, limits) as rows:
        _check_header(rows, sample.header, card)
        return ids, _collect(rows, ids, card, strict=True)


def check_form(submission_path: Path, view_dir: Path, card: TaskCard) -> None:
    """Check that a file could be submitted. Raises InvalidSubmission: it could not; the text gives the reason."""
    read_submission(submission_path, view_dir / "sample_submission.csv", card)


def read_truth(path: Path, ids: Sequence[str], card: TaskCard, limits: CsvReadLimits = _TRUSTED) -> NDArray[Any]:
    """Read answers or labels for those ids; other columns and other rows are ignored.

    Raises InvalidSubmission: an id or a value is missing, so that the file cannot serve as the truth.
    """
    with open_rows(path, limits) as rows:
        for column in card.columns:
            if column not in rows.header:
                raise InvalidSubmission(f"{rows.name} has no column {column!r}.")
        return _collect(rows, ids, card, strict=False)


def _check_header(rows: UntrustedRows, allowed: Sequence[str], card: TaskCard) -> None:
    expected = card.columns
    times, allowed_names = Counter(rows.header), {*expected, *allowed}
    duplicates = [column for column, count in times.items() if count > 1]
    missing = [column for column in expected if column not in times]
    extra = [column for column in times if column not in allowed_names]
    for columns, fault in ((missing, "lacks"), (duplicates, "repeats"), (extra, "should not have")):
        if columns:
            noun = "columns" if len(columns) > 1 else "column"
            names = _first_few([*map(short, columns)], 3)
            raise InvalidSubmission(f"{rows.name} {fault} the {noun} {names}; expected: {_first_few(expected, 5)}.")


def _collect(rows: UntrustedRows, ids: Sequence[str], card: TaskCard, *, strict: bool) -> NDArray[Any]:
    """Place each row's values where its id stands in `ids`; equal ids are filled in order of appearance."""
    kind = prediction_kind(card)
    bounds = prediction_bounds(card) if strict else Bounds()
    read = _number_reader(bounds) if kind == "number" else _READERS[kind]
    shape = (len(ids), len(card.prediction_columns))
    values: NDArray[Any] = np.empty(shape, dtype=float if kind == "number" else object)
    ids_at = [rows.header.index(column) for column in card.row_columns]
    columns = [rows.header.index(column) for column in card.prediction_columns]
    places, count = _Places(ids), 0
    # One letter beyond Latin makes each of a text take four bytes.
    room = rows.limits.file_bytes + _EACH_TEXT * len(ids) * len(columns)
    for number, row in rows:
        if len(row) != len(rows.header):
            cells = f"{len(row):,} cells, but the header has {len(rows.header):,}"
            raise InvalidSubmission(f"{rows.name}, row {number}: {cells}.")
        count += 1
        identifier = row_key([row[i] for i in ids_at])
        place = places.take(identifier)
        if place is None or place == _ALREADY_READ:
            if strict:
                _reject_bytes([(rows.header[i], row[i]) for i in ids_at], place=f"{rows.name}, row {number}")
                _reject_id(identifier, ids, known=place is not None, place=f"{rows.name}, row {number}")
            continue
        values_of_row = [read(row[place]) for place in columns]
        if None in values_of_row:
            column = columns[values_of_row.index(None)]
            raise InvalidSubmission(
                f"{rows.name}, row {number} (id {_short_key(identifier)}): "
                f"the value of {short(rows.header[column])} {_fault(row[column], kind, bounds)}."
            )
        values[place] = values_of_row
        if kind != "number":
            room -= sum(map(sys.getsizeof, values_of_row))
            if room < 0:
                raise InvalidSubmission(f"{rows.name}, row {number}: predictions up to this row need too much memory.")
    if (missing_id := places.first_free()) is not None:
        raise InvalidSubmission(
            f"{rows.name} has {count} rows; {len(ids)} are expected, and the first missing id is {_short_key(missing_id)}."
        )
    return values


class _Places:
    """Where the rows of given ids stand, each to be taken once: equal ones in order, in one dict, as there may be millions."""

    def __init__(self, ids: Sequence[str]) -> None:
        self._ids = ids
        self._free: dict[str, int] = {}
        self._next: dict[int, int] = {}
        for place in range(len(ids) - 1, -1, -1):
            if (later := self._free.get(ids[place])) is not None:
                self._next[place] = later
            self._free[ids[place]] = place

    def take(self, identifier: str) -> int | None:
        """Return the next free place of an id, `_ALREADY_READ` where all are taken, and None for an unknown id."""
        place = self._free.get(identifier)
        if place is None or place == _ALREADY_READ:
            return place
        self._free[identifier] = self._next.pop(place, _ALREADY_READ)
        return place

    def first_free(self) -> str | None:
        """Return the first id that has a free place; None: all are taken."""
        return next((id for id in self._ids if self._free[id] != _ALREADY_READ), None)


def _reject_bytes(cells: Sequence[tuple[str, str]], *, place: str) -> None:
    """Refuse a row whose id cannot be read; one that the sample writes in the same bytes has been found by now."""
    for column, cell in cells:
        if bad_bytes := foreign_bytes(cell):
            byte_words = ", ".join(f"0x{byte:02X}" for byte in bad_bytes[:3]) + (", …" if len(bad_bytes) > 3 else "")
            raise InvalidSubmission(
                f"{place}, column {short(column)}: contains bytes that are not UTF-8 ({byte_words}): {short(cell)}."
            )


def _reject_id(identifier: str, ids: Sequence[str], *, known: bool, place: str) -> None:
    if known:
        id_words = f"the id {_short_key(identifier)}"
        raise InvalidSubmission(f"{place}: {id_words} appears more often than in the sample submission.")
    raise InvalidSubmission(
        f"{place}: the id {_short_key(identifier)} is not in the sample submission, whose {len(ids)} ids look like "
        f"{_short_key(ids[0]) if ids else 'nothing'}."
    )


def _short_key(key: str) -> str:
    return short(shown_key(key))


def _number_reader(bounds: Bounds) -> Callable[[str], float | str | None]:
    low, high = bounds.low, bounds.high

    def read(text: str) -> float | None:
        value = read_number(text)
        return value if value is not None and math.isfinite(value) and low <= value <= high else None

    return read


def _label(text: str) -> str | None:
    return None if text.strip().lower() in _NO_LABEL else _text(text)


def _text(text: str) -> str | None:
    return text if _fault_of_text(text) is None else None


_READERS: dict[PredictionKind, Callable[[str], float | str | None]] = {"label": _label, "text": _text}
"""What a cell holds, or None where it cannot be taken."""


def _fault_of_text(text: str) -> str | None:
    if "\0" in text:
        return "contains a NUL character"
    return "is not UTF-8 text" if foreign_bytes(text) else None


def _fault(text: str, kind: PredictionKind, bounds: Bounds) -> str:
    """Say what is wrong with a cell that cannot be taken."""
    if kind != "text" and text.strip().lower() in (_NO_LABEL if kind == "label" else _NO_NUMBER):
        return f"is missing ({short(text)})"
    if (fault := _fault_of_text(text)) is not None:
        return f"{fault}: {short(text)}"
    value = read_number(text)
    if value is None:
        return f"is not a number: {short(text)}"
    if not math.isfinite(value):
        return f"is not finite: {short(text)}"
    return f"is {short(text)}, but {bounds.reason}"


def _first_few(names: Sequence[str], limit: int) -> str:
    first_names = ", ".join(names[:limit])
    return first_names if len(names) <= limit else f"{first_names} and {len(names) - limit:,} more"
