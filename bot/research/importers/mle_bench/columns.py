"""Finds a submission's id column, its prediction columns, and the table with their true values."""

import itertools
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.research.importers.mle_bench.prepared_files import PreparedFiles
from bot.research.importers.mle_bench.tables import header_of, table_of_lines, table_rows
from scrapers.snapshots.answers import USAGE, value
from scrapers.snapshots.tables import is_table
from state.errors import Problem, SnapshotError

BYTES_AT_ONCE = 200_000_000
"""Most cells of a table whose ids are held in memory together; a larger one is read in parts, split by a hash of the id."""
_WIDEST_KEY = 3
_FIRST = 8
"""Columns of a submission that are tried as parts of a key."""
_MAX_SHOWN = 5
_PROBE = 50_000
"""First rows in which a candidate key must not repeat, before all rows are read."""
_HARDLY = 0.9
"""Share of distinct cells among the rows above which a column holds ids of which some repeat."""
_VALUES = 3
"""Distinct cells that a further column of such a key must have: a constant column distinguishes nothing."""
_TEST = re.compile(r"test", re.IGNORECASE)


@dataclass(frozen=True)
class SubmissionColumns:
    """The parts of a submission's table."""

    header: tuple[str, ...]
    """Of the sample submission, in its order."""
    id_column: str
    key_columns: tuple[str, ...]
    """Further columns that identify a row, the same in the sample and the answers."""
    predictions: tuple[str, ...]
    labels: tuple[str, ...]
    """The columns of `answers.csv` beside the key: the prediction columns, or others if no table has these."""
    source: Path
    """The table that has the key and the labels."""
    respelled: bool
    """Whether the source spells ids differently from the sample (`1.0` for `1`)."""
    notes: tuple[str, ...]
    """Remarks on unusual properties."""

    @property
    def rows(self) -> tuple[str, ...]:
        """The columns that identify a row."""
        return (self.id_column, *self.key_columns)

    @property
    def known(self) -> bool:
        """Whether the true predictions are known."""
        return self.labels == self.predictions


def choose_columns(files: PreparedFiles, sample: Path, scratch: Path) -> SubmissionColumns:
    """Compare the sample submission with the gold submission if there is one, else with the answers.

    The first column that names each row once, and the same rows in both, is the id: by custom the sample's first one.
    Otherwise it is several columns together, or one whose cells repeat as often in both; then rows with the same cell are
    distinguished by their order.

    If no table has the prediction columns, the labels are those columns of the answers that no public table of the same
    rows has: then only the competition's own grader can interpret them. A table that has to be made goes into `scratch`.

    Raises:
        SnapshotError: nothing names the same rows in both, or the answers hold nothing else.
    """
    header = header_of(sample)
    if len(set(header)) != len(header) or len(header) < 2 or not all(header):
        reason = f"has no id column: its columns are {_name_some(header) or 'none'}"
        raise SnapshotError([Problem(sample.name, 1, reason)])
    source = _truth(files, header, scratch)
    shared = [name for name in header if name in header_of(source)]
    has_all = len(shared) == len(header)
    tables = (sample, source)
    key_found = (
        (_unique_key(tables, shared, known=has_all) or _repeated_key(tables, shared, known=has_all)) if shared else None
    )
    if key_found is None:
        raise SnapshotError([Problem(sample.name, None, _why_no_id(sample, source, header))])
    key, respelled, note = key_found
    notes = [] if source == files.answers else [f"the true values are from {source.name}"]
    if note:
        notes.append(note)
    if respelled:
        notes.append(f"the ids in {source.name} are rewritten as the sample submission spells them")
    predictions = tuple(column for column in header if column not in key)
    labels = predictions if has_all else _labels(files, source, key)
    if not has_all:
        without_truth = [name for name in predictions if name not in shared]
        notes.append(
            f"no table has the true {_name_some(without_truth)}; the grader uses {_name_some(labels)} from {source.name}"
        )
    return SubmissionColumns(header, key[0], key[1:], predictions, labels, source, respelled, tuple(notes))


Tables = tuple[Path, Path]
Key = tuple[tuple[str, ...], bool, str]
"""Columns, whether the source spells them differently, and a note on them (may be empty)."""


def _unique_key(tables: Tables, header: Sequence[str], *, known: bool) -> Key | None:
    """Return the first columns that name each row once, and the same rows in both tables: as few as possible.

    If the predictions are among the columns (`known`), at least one is left for them.
    """
    head = list(itertools.islice(_cells(tables[0], header, whole=True), _PROBE))
    for width in range(1, min(_WIDEST_KEY, len(header) - known) + 1):
        # Only columns with the same cells in both tables can together name the same rows.
        names = list(header)
        if width > 1:
            names = [n for n in header[:_FIRST] if _same_rows(tables, (n,), respelled=True, once=False)]
        # A key that repeats in the first rows repeats in all, so that these need not be read.
        once = [key for key in itertools.combinations(names, width) if _is_unique(head, [header.index(n) for n in key])]
        for respelled, key in itertools.product((False, True), once):
            if _same_rows(tables, key, respelled=respelled, once=True):
                note = ""
                if width > 1:
                    note = f"rows are identified by the combination of {_name_some(key)}"
                elif key[0] != header[0]:
                    note = f"the id is {key[0]!r}, because the first column, {header[0]!r}, is not unique"
                return key, respelled, note
    return None


def _is_unique(rows: Sequence[Sequence[object]], places: Sequence[int]) -> bool:
    return len({tuple(row[place] for place in places) for row in rows}) == len(rows)


def _repeated_key(tables: Tables, header: Sequence[str], *, known: bool) -> Key | None:
    """Return a column whose cells repeat as often in both tables, with the other columns that agree.

    Hardly any cell may repeat: a class or a prediction, too, may occur as often in both.
    """
    row_count = sum(1 for _ in _cells(tables[0], header[:1]))
    for name in header[:_FIRST]:
        different = len(set(_cells(tables[0], (name,))))
        if _HARDLY * row_count <= different and _same_rows(tables, (name,), respelled=False, once=False):
            break
    else:
        return None
    key: tuple[str, ...] = (name,)
    for candidate in header:
        if candidate in key or len(key) >= len(header) - known or len(set(_cells(tables[0], (candidate,)))) < _VALUES:
            continue
        wider_key = (*key, candidate)
        key = wider_key if _same_rows(tables, wider_key, respelled=False, once=False) else key
    twice = row_count - len(set(_cells(tables[0], key)))
    return (
        key,
        False,
        f"{_name_some(key)} repeats in {twice:,} of {row_count:,} rows; repeated rows are matched by order",
    )


def _truth(files: PreparedFiles, header: Sequence[str], scratch: Path) -> Path:
    """Return the first table with all columns of the sample, else the answers' table.

    A gold submission comes first: answers may have a prediction's column in another form (kuzushiji-recognition has boxes
    where points are predicted, hms-harmful-brain-activity-classification counts where shares are).
    """
    answers: Path | None = files.answers
    if files.answers.suffix.lower() == ".jsonl":
        answers = table_of_lines(files.answers, scratch)
    for table in filter(None, (files.gold, answers)):
        if set(header) <= set(header_of(table)):
            return table
    if answers is None:
        raise SnapshotError([Problem(files.answers.name, None, "has no fields that match the columns of a table")])
    return answers


def _labels(files: PreparedFiles, source: Path, key: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns of the answers that the test's own tables do not have.

    That is test.csv, or else public tables named for the test that cover all rows: the columns in all of them are inputs. A
    table with more of the answers' columns leaks answers, and does not make those columns inputs.
    """
    wanted_keys = Counter(_cells(source, key))
    tests = {
        table.name: set(header)
        for table in sorted(files.public.glob("*"))
        if is_table(table.name) and _TEST.search(table.stem) and set(key) <= set(header := header_of(table))
        if not wanted_keys - Counter(_cells(table, key))
    }
    public_names = tests.get("test.csv") or (set.intersection(*tests.values()) if tests else set())
    labels = tuple(name for name in header_of(source) if name not in public_names | {*key, USAGE})
    if not labels:
        reason = f"has no labels: every column except {_name_some(key)} is public"
        raise SnapshotError([Problem(files.answers.name, 1, reason)])
    return labels


def _same_rows(tables: Tables, key: tuple[str, ...], *, respelled: bool, once: bool) -> bool:
    """Whether columns name the same rows of both tables, as often in one as in the other, or each once."""
    parts = 1 + max(table.stat().st_size for table in tables) // BYTES_AT_ONCE
    for part in range(parts):
        counts = []
        for table in tables:
            count = Counter(
                cell
                for cell in _cells(table, key, respelled=respelled)
                if parts == 1 or zlib.crc32(str(cell).encode(errors="surrogateescape")) % parts == part
            )
            if once and count and max(count.values()) > 1:
                return False
            counts.append(count)
        if counts[0] != counts[1]:
            return False
    return True


def _cells(table: Path, names: Sequence[str], *, respelled: bool = False, whole: bool = False) -> Iterator[Any]:
    """Yield a column's cells, or tuples of several columns' (always, for `whole`); rows that are too short are skipped."""
    with table_rows(table) as rows:
        header = next(rows, (0, []))[1]
        places = [header.index(name) for name in names]
        for _, cells in rows:
            if len(cells) > max(places):
                values = tuple(value(cells[place]) if respelled else cells[place] for place in places)
                yield values if whole or len(values) > 1 else values[0]


def _why_no_id(sample: Path, source: Path, header: Sequence[str]) -> str:
    """Explain the failure by the column with the most distinct cells among those that both tables have."""
    shared = [name for name in header[:_FIRST] if name in header_of(source)]
    name = max(shared, key=lambda n: len(set(_cells(sample, (n,)))), default=header[0])
    sample_ids = Counter(_cells(sample, (name,)))
    answer_ids = Counter(_cells(source, (name,))) if shared else Counter()
    missing, unknown = (answer_ids - sample_ids).total(), (sample_ids - answer_ids).total()
    if not missing and not unknown:
        repeats = f"{name!r} repeats in {sample_ids.total() - len(sample_ids):,} of {sample_ids.total():,} rows"
        return f"{repeats}, which is too many for an id, and no other column identifies a row"
    return (
        f"no column identifies the same rows as {source.name}: matched by {name!r}, {missing:,} answers have no row here and "
        f"{unknown:,} rows have no answer"
    )


def _name_some(names: Sequence[str]) -> str:
    first_names = ", ".join(repr(name[:80]) for name in names[:_MAX_SHOWN])
    return first_names if len(names) <= _MAX_SHOWN else f"{first_names} and {len(names) - _MAX_SHOWN} more"
