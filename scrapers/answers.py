"""The hidden answers, and that the sample submission asks for exactly them."""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from scrapers.csv_files import NotCsv, open_table
from scrapers.found import Found
from scrapers.manifest import Manifest

ANSWERS = "private/answers.csv"
SAMPLE = "data/sample_submission.csv"
USAGE = "Usage"
_USAGES = frozenset({"Public", "Private", "Ignored"})
CELLS_AT_ONCE = 1_000_000
"""Of the answers, held in memory; a larger file is gone through in several parts, split by a hash of the id."""

Value = float | str


@dataclass(frozen=True)
class Answers:
    """What a file of `data/` must not say."""

    id_column: str
    columns: tuple[str, ...]
    """The prediction columns."""
    values: dict[str, tuple[Value, ...]]
    """Id to one value a prediction column; of very long answers a seeded part of the ids."""


def value(cell: str) -> Value:
    """Return a cell as a number if it is one ("1" and "1.0" are equal), else as text without outer blanks."""
    try:
        number = float(cell)
    except ValueError:
        return cell.strip()
    return number if number == number else "nan"


def check_answers(root: Path, manifest: Manifest, found: Found, cells_at_once: int = CELLS_AT_ONCE) -> Answers | None:
    """Check `answers.csv` and `sample_submission.csv`: columns, unique ids, the same ids in both.

    Memory is bounded by `cells_at_once` cells, whatever the files' size.

    Returns:
        The answers, or None if they cannot be used; the reasons are in `found`.
    """
    return read_answers(root, manifest.id_column, manifest.prediction_columns, found, cells_at_once)


def read_answers(
    root: Path, id_column: str, predictions: Sequence[str], found: Found, cells_at_once: int = CELLS_AT_ONCE
) -> Answers | None:
    """Do what `check_answers` does, with the columns in the manifest's place."""
    wanted = [id_column, *predictions]
    answers = _Table.open(root, ANSWERS, wanted, found)
    sample = _Table.open(root, SAMPLE, wanted, found)
    if sample is not None and (extra := [name for name in sample.header if name not in wanted]):
        found.add(SAMPLE, f"has columns that the manifest does not name: {_some(extra)}", 1)
    if answers is None:
        return None
    parts = 1 + answers.length * len(wanted) // cells_at_once
    for part in range(parts):
        ids = answers.unique_ids(part, parts, found)
        if sample is not None:
            _compare(ids, sample.unique_ids(part, parts, found), found)
    return Answers(id_column, tuple(predictions), answers.values(0, parts))


def _compare(answered: set[str], asked: set[str], found: Found) -> None:
    if missing := sorted(answered - asked):
        found.add(SAMPLE, f"lacks {len(missing):,} ids that {ANSWERS} has: {_some(missing)}", kind="missing ids")
    if unknown := sorted(asked - answered):
        found.add(SAMPLE, f"has {len(unknown):,} ids that {ANSWERS} lacks: {_some(unknown)}", kind="unknown ids")


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name[:80]) for name in names[:5])
    return shown if len(names) <= 5 else f"{shown}, ..."


@dataclass(frozen=True)
class _Table:
    """A CSV file that is gone through several times, and where its columns are."""

    path: Path
    name: str
    header: tuple[str, ...]
    places: tuple[int, ...]
    """Of the id column and the prediction columns."""
    length: int
    """Rows without the header."""

    @classmethod
    def open(cls, root: Path, name: str, wanted: Sequence[str], found: Found) -> "_Table | None":
        """Check the header and the shape of every row; None if the table is of no use."""
        path = root / name
        if not path.is_file():
            return None
        try:
            with found.reading(name), open_table(path) as rows:
                header = tuple(next(rows, (0, []))[1])
                if missing := [column for column in wanted if column not in header]:
                    found.add(name, f"has no column {_some(missing)}", 1)
                    return None
                if len(set(header)) != len(header):
                    found.add(name, "names a column twice", 1)
                    return None
                length = _check_rows(rows, name, header, found)
                if length == 0:
                    found.add(name, "has no rows")
                return cls(path, name, header, tuple(header.index(column) for column in wanted), length)
        except NotCsv as error:
            found.add(name, str(error), error.line)
        return None

    def _part(self, part: int, parts: int) -> Iterator[tuple[int, str, list[str]]]:
        with open_table(self.path) as rows:
            next(rows)
            for line, cells in rows:
                if len(cells) == len(self.header):
                    row_id = cells[self.places[0]]
                    if parts == 1 or zlib.crc32(row_id.encode(errors="surrogateescape")) % parts == part:
                        yield line, row_id, cells

    def unique_ids(self, part: int, parts: int, found: Found) -> set[str]:
        ids: set[str] = set()
        for line, row_id, _ in self._part(part, parts):
            if row_id in ids:
                found.add(self.name, f"the id {row_id[:80]!r} occurs twice", line, kind="duplicate ids")
            ids.add(row_id)
        return ids

    def values(self, part: int, parts: int) -> dict[str, tuple[Value, ...]]:
        seen: dict[Value, Value] = {}
        result: dict[str, tuple[Value, ...]] = {}
        for _, row_id, cells in self._part(part, parts):
            row = (value(cells[place]) for place in self.places[1:])
            result[row_id] = tuple(seen.setdefault(cell, cell) for cell in row)
        return result


def _check_rows(rows: Iterator[tuple[int, list[str]]], name: str, header: tuple[str, ...], found: Found) -> int:
    length = 0
    usage = header.index(USAGE) if name == ANSWERS and USAGE in header else None
    for line, cells in rows:
        length += 1
        if len(cells) != len(header):
            message = f"the row has {len(cells)} cells, the header {len(header)}"
            found.add(name, message, line, kind="ragged rows")
        elif usage is not None and cells[usage] not in _USAGES:
            found.add(name, f"`{USAGE}` is {cells[usage][:40]!r}, not Public, Private or Ignored", line, kind="usage")
    return length
