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
    number = read_number(cell)
    if number is None:
        return cell.strip()
    return number if number == number else "nan"


def check_answers(
    root: Path, manifest: Manifest, problems: Problems, cells_at_once: int = CELLS_AT_ONCE, *, own_grader: bool = False
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
    return read_answers(root, rows, predictions, labels, problems, cells_at_once)


def read_answers(
    root: Path,
    rows: Sequence[str],
    predictions: Sequence[str],
    labels: Sequence[str],
    problems: Problems,
    cells_at_once: int = CELLS_AT_ONCE,
) -> Answers | None:
    """Do the same as `check_answers`, with columns in place of the manifest.

    `rows` identify a row; `predictions` are the other columns of the sample, `labels` those of the answers that matter.
    """
    columns = [*rows, *predictions]
    answers = _Table.open(root, ANSWERS, [*rows, *labels], len(rows), problems)
    sample = _Table.open(root, SAMPLE, columns, len(rows), problems)
    if sample is not None and (extra := [name for name in sample.header if name not in columns]):
        problems.add(SAMPLE, f"has columns that are not in the manifest: {_first(extra)}", 1)
    if answers is None:
        return None
    parts = 1 + answers.length * len(columns) // cells_at_once
    for part in range(parts):
        if sample is not None:
            _compare(answers.keys(part, parts), sample.keys(part, parts), problems)
    values, are_numbered = answers.values(0, parts)
    return Answers(tuple(rows), tuple(labels), values, are_numbered, tuple(labels) == tuple(predictions))


def _other_columns(root: Path, rows: Sequence[str], predictions: Sequence[str]) -> Sequence[str]:
    """Return the columns of the answers beside the key if they differ from the prediction columns; else the latter."""
    try:
        with open_table(root / ANSWERS) as table:
            header = next(table, (0, []))[1]
    except (NotCsv, OSError):
        return predictions  # the fault is reported when the table is read
    columns = [name for name in header if name not in (*rows, USAGE)]
    return columns if columns and not set(predictions) <= set(header) else predictions


def _compare(answer_keys: Counter[str], sample_keys: Counter[str], problems: Problems) -> None:
    if missing := sorted(answer_keys.keys() - sample_keys.keys()):
        problems.add(SAMPLE, f"is missing {len(missing):,} ids from {ANSWERS}: {_first(missing)}", kind="missing ids")
    if unknown := sorted(sample_keys.keys() - answer_keys.keys()):
        problems.add(SAMPLE, f"has {len(unknown):,} ids not in {ANSWERS}: {_first(unknown)}", kind="unknown ids")
    for key in sorted(sample_keys.keys() & answer_keys.keys()):
        if sample_keys[key] != answer_keys[key]:
            times = f"{sample_keys[key]:,} times, but {ANSWERS} has it {answer_keys[key]:,} times"
            problems.add(SAMPLE, f"has the id {shown_key(key)[:80]!r} {times}", kind="repeated ids")


def _first(names: Sequence[str]) -> str:
    shown_names = ", ".join(repr(shown_key(name)[:80]) for name in names[:5])
    return shown_names if len(names) <= 5 else f"{shown_names}, ..."


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
    def open(cls, root: Path, name: str, columns: Sequence[str], width: int, problems: Problems) -> "_Table | None":
        """Check the header, of which some columns are wanted, `width` key columns first, and the shape of every row.

        None: the table is of no use.
        """
        path = root / name
        if not path.is_file():
            return None
        try:
            with problems.reading(name), open_table(path) as rows:
                header = tuple(next(rows, (0, []))[1])
                if missing := [column for column in columns if column not in header]:
                    problems.add(name, f"has no column {_first(missing)}", 1)
                    return None
                if len(set(header)) != len(header):
                    problems.add(name, "names a column twice", 1)
                    return None
                length = _check_rows(rows, name, header, problems)
                if length == 0:
                    problems.add(name, "has no rows")
                places = tuple(header.index(column) for column in columns)
                return cls(path, name, header, places[:width], places[width:], length)
        except NotCsv as error:
            problems.add(name, str(error), error.line)
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
        are_numbered = 2 * once < len(counts)
        interned: dict[Value, Value] = {}
        result: dict[str, tuple[Value, ...]] = {}
        repeats = Repeats()
        for key, cells in self._part(part, parts):
            if are_numbered or counts[key] == 1:
                row = (value(cells[place]) for place in self.places)
                name = repeats.numbered(key) if are_numbered else key
                result[name] = tuple(interned.setdefault(cell, cell) for cell in row)
        return result, are_numbered


def _check_rows(rows: Iterator[tuple[int, list[str]]], name: str, header: tuple[str, ...], problems: Problems) -> int:
    length = 0
    usage = header.index(USAGE) if name == ANSWERS and USAGE in header else None
    for line, cells in rows:
        length += 1
        if len(cells) != len(header):
            message = f"the row has {len(cells)} cells, but the header has {len(header)}"
            problems.add(name, message, line, kind="ragged rows")
        elif usage is not None and cells[usage] not in _USAGES:
            problems.add(
                name, f"`{USAGE}` is {cells[usage][:40]!r}; it must be Public, Private or Ignored", line, kind="usage"
            )
    return length
