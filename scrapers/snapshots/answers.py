"""The hidden answers, and that the sample submission asks for exactly them."""

import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from scrapers.snapshots.manifest import Manifest
from scrapers.snapshots.problems import Problems
from scrapers.snapshots.tables import NotCsv, Repeats, open_table, read_number, row_key, shown_key

ANSWERS = "private/answers.csv"
SAMPLE = "data/sample_submission.csv"
USAGE = "Usage"
_USAGES = frozenset({"Public", "Private", "Ignored"})
CELLS_AT_ONCE = 1_000_000
"""Of the answers, held in memory; a larger file is gone through in several parts, split by a hash of the id."""

Value = float | str


@dataclass(frozen=True)
class Answers:
    """The hidden values, which no file of `data/` may hold."""

    rows: tuple[str, ...]
    """The columns that identify a row."""
    columns: tuple[str, ...]
    """The labels: the prediction columns, or others if only the competition's own grader knows the true predictions."""
    values: dict[str, tuple[Value, ...]]
    """Key to one value per label; for very long answers a seeded sample of the keys."""
    numbered: bool = False
    """Whether most keys repeat, so that equal ones are numbered; otherwise repeated ones are left out."""
    predicted: bool = True
    """Whether the labels are the prediction columns."""


def value(cell: str) -> Value:
    """Return a cell as a number if it is one ("1" and "1.0" are equal), otherwise as text without outer blanks."""
    found = read_number(cell)
    if found is None:
        return cell.strip()
    return found if found == found else "nan"


def check_answers(
    root: Path, manifest: Manifest, found: Problems, cells_at_once: int = CELLS_AT_ONCE, *, own_grader: bool = False
) -> Answers | None:
    """Check `answers.csv` and `sample_submission.csv`: their columns, and that both have the same ids, each as often.

    Memory is bounded by `cells_at_once` cells, whatever the files' size. Answers that only the competition's own grader
    reads may lack the prediction columns.

    Returns:
        The answers, or None if they cannot be used; the reasons are in `found`.
    """
    rows = (manifest.id_column, *manifest.key_columns)
    predictions = manifest.prediction_columns
    labels = _other_columns(root, rows, predictions) if own_grader else predictions
    return read_answers(root, rows, predictions, labels, found, cells_at_once)


def read_answers(
    root: Path,
    rows: Sequence[str],
    predictions: Sequence[str],
    labels: Sequence[str],
    found: Problems,
    cells_at_once: int = CELLS_AT_ONCE,
) -> Answers | None:
    """Do the same as `check_answers`, with columns in place of the manifest.

    `rows` identify a row; `predictions` are the other columns of the sample, `labels` those of the answers that matter.
    """
    wanted = [*rows, *predictions]
    answers = _Table.open(root, ANSWERS, [*rows, *labels], len(rows), found)
    sample = _Table.open(root, SAMPLE, wanted, len(rows), found)
    if sample is not None and (extra := [name for name in sample.header if name not in wanted]):
        found.add(SAMPLE, f"has columns that the manifest does not name: {_some(extra)}", 1)
    if answers is None:
        return None
    parts = 1 + answers.length * len(wanted) // cells_at_once
    for part in range(parts):
        if sample is not None:
            _compare(answers.keys(part, parts), sample.keys(part, parts), found)
    values, numbered = answers.values(0, parts)
    return Answers(tuple(rows), tuple(labels), values, numbered, tuple(labels) == tuple(predictions))


def _other_columns(root: Path, rows: Sequence[str], predictions: Sequence[str]) -> Sequence[str]:
    """Return the columns of the answers beside the key if they differ from the prediction columns; else the latter."""
    try:
        with open_table(root / ANSWERS) as table:
            header = next(table, (0, []))[1]
    except (NotCsv, OSError):
        return predictions  # the fault is reported when the table is read
    others = [name for name in header if name not in (*rows, USAGE)]
    return others if others and not set(predictions) <= set(header) else predictions


def _compare(answered: Counter[str], asked: Counter[str], found: Problems) -> None:
    if missing := sorted(answered.keys() - asked.keys()):
        found.add(SAMPLE, f"lacks {len(missing):,} ids that {ANSWERS} has: {_some(missing)}", kind="missing ids")
    if unknown := sorted(asked.keys() - answered.keys()):
        found.add(SAMPLE, f"has {len(unknown):,} ids that {ANSWERS} lacks: {_some(unknown)}", kind="unknown ids")
    for key in sorted(asked.keys() & answered.keys()):
        if asked[key] != answered[key]:
            times = f"{asked[key]:,} times, but {answered[key]:,} times in {ANSWERS}"
            found.add(SAMPLE, f"has the id {shown_key(key)[:80]!r} {times}", kind="repeated ids")


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(repr(shown_key(name)[:80]) for name in names[:5])
    return shown if len(names) <= 5 else f"{shown}, ..."


@dataclass(frozen=True)
class _Table:
    """A CSV file that is read several times, and the places of its columns."""

    path: Path
    name: str
    header: tuple[str, ...]
    key: tuple[int, ...]
    """Places of the key columns."""
    places: tuple[int, ...]
    """Places of the prediction columns."""
    length: int
    """Rows without the header."""

    @classmethod
    def open(cls, root: Path, name: str, wanted: Sequence[str], width: int, found: Problems) -> "_Table | None":
        """Check the header, of which some columns are wanted, `width` key columns first, and the shape of every row.

        None: the table is of no use.
        """
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
                places = tuple(header.index(column) for column in wanted)
                return cls(path, name, header, places[:width], places[width:], length)
        except NotCsv as error:
            found.add(name, str(error), error.line)
        return None

    def _part(self, part: int, parts: int) -> Iterator[tuple[str, list[str]]]:
        with open_table(self.path) as rows:
            next(rows)
            for _, cells in rows:
                if len(cells) == len(self.header):
                    key = row_key([cells[place] for place in self.key])
                    if parts == 1 or zlib.crc32(key.encode(errors="surrogateescape")) % parts == part:
                        yield key, cells

    def keys(self, part: int, parts: int) -> Counter[str]:
        return Counter(key for key, _ in self._part(part, parts))

    def values(self, part: int, parts: int) -> tuple[dict[str, tuple[Value, ...]], bool]:
        """Return the labels by key, and whether keys are numbered, as hardly any occurs only once."""
        counts = self.keys(part, parts)
        once = sum(count == 1 for count in counts.values())
        numbered = 2 * once < len(counts)
        seen: dict[Value, Value] = {}
        result: dict[str, tuple[Value, ...]] = {}
        repeats = Repeats()
        for key, cells in self._part(part, parts):
            if numbered or counts[key] == 1:
                row = (value(cells[place]) for place in self.places)
                name = repeats.numbered(key) if numbered else key
                result[name] = tuple(seen.setdefault(cell, cell) for cell in row)
        return result, numbered


def _check_rows(rows: Iterator[tuple[int, list[str]]], name: str, header: tuple[str, ...], found: Problems) -> int:
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
