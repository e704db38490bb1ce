"""Which column of a submission is the id and which are predictions, and where their true values stand."""

import itertools
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from scrapers.answers import value
from scrapers.imports.mle_bench.prepared import Prepared
from scrapers.imports.mle_bench.tables import header_of, table_of_lines, table_rows
from state.errors import Problem, SnapshotError

BYTES_AT_ONCE = 200_000_000
"""Of a table, whose ids are held in memory together; a larger one is gone through in parts, split by a hash of the id."""
_WIDEST_KEY = 3
_FIRST = 8
"""Columns of a submission that are tried as parts of a key."""
_SHOWN = 5


@dataclass(frozen=True)
class Columns:
    """The parts of a submission's table."""

    header: tuple[str, ...]
    """Of the sample submission, in its order."""
    id_column: str
    key_columns: tuple[str, ...]
    """Further columns that say which row is meant; the sample has them as the answers do."""
    predictions: tuple[str, ...]
    source: Path
    """The table that has all of these columns with the true values."""
    respelled: bool
    """Whether the source spells ids otherwise than the sample (`1.0` for `1`)."""
    notes: tuple[str, ...]
    """What a reader would not expect."""

    @property
    def rows(self) -> tuple[str, ...]:
        """The columns by which rows are told apart."""
        return (self.id_column, *self.key_columns)


def choose_columns(prepared: Prepared, sample: Path, scratch: Path) -> Columns:
    """Compare the sample submission with the answers, and with the gold submission where the answers lack a column.

    The first column that names each row once, and the same rows in both, is the id: the sample's first one by custom. Else
    several columns together do, or one whose cells repeat as often in both: its rows are told apart by their order.

    Args:
        prepared: the competition's files.
        sample: its sample submission, unpacked.
        scratch: an existing folder for a table that has to be made.

    Raises:
        SnapshotError: no table has all columns, or nothing names the same rows in both.
    """
    header = header_of(sample)
    if len(set(header)) != len(header) or len(header) < 2 or not all(header):
        what = f"cannot be a submission with an id: its columns are {_listed(header) or 'none'}"
        raise SnapshotError([Problem(sample.name, 1, what)])
    source = _truth(prepared, header, scratch)
    found = _unique_key((sample, source), header) or _repeated_key((sample, source), header)
    if found is None:
        raise SnapshotError([Problem(sample.name, None, _why_no_id(sample, source, header))])
    key, respelled, said = found
    notes = [] if source == prepared.answers else [f"the true values are those of {source.name}"]
    if said:
        notes.append(said)
    if respelled:
        notes.append(f"the ids of {source.name} are spelled as the sample spells them")
    rest = tuple(column for column in header if column not in key)
    return Columns(header, key[0], key[1:], rest, source, respelled, tuple(notes))


Key = tuple[tuple[str, ...], bool, str]
"""Columns, whether the source spells them otherwise, and what is to be said of them."""


def _unique_key(tables: tuple[Path, Path], header: Sequence[str]) -> Key | None:
    """Return the first columns that name each row once, and the same rows in both tables: as few as possible."""
    for width in range(1, min(_WIDEST_KEY, len(header) - 1) + 1):
        tried = header if width == 1 else header[:_FIRST]
        for respelled, key in itertools.product((False, True), itertools.combinations(tried, width)):
            if _same_rows(tables, key, respelled=respelled, once=True):
                said = ""
                if width > 1:
                    said = f"rows are told apart by {_listed(key)} together"
                elif key[0] != header[0]:
                    said = f"the id is {key[0]!r}, as the first column, {header[0]!r}, does not name each row once"
                return key, respelled, said
    return None


def _repeated_key(tables: tuple[Path, Path], header: Sequence[str]) -> Key | None:
    """Return the column with the most cells of its own that repeat as often in both tables, and what else both have alike."""
    cells = {name: len(set(_cells(tables[0], (name,)))) for name in header[:_FIRST]}
    for name in sorted(cells, key=lambda name: -cells[name]):
        if cells[name] > 1 and _same_rows(tables, (name,), respelled=False, once=False):
            break
    else:
        return None
    key: tuple[str, ...] = (name,)
    for other in header:
        if other not in key and len(key) < len(header) - 1:
            both = (*key, other)
            key = both if _same_rows(tables, both, respelled=False, once=False) else key
    many = sum(1 for _ in _cells(tables[0], key))
    twice = many - len(set(_cells(tables[0], key)))
    return key, False, f"{_listed(key)} repeats in {twice:,} of {many:,} rows, which are told apart by their order"


def _truth(prepared: Prepared, header: Sequence[str], scratch: Path) -> Path:
    """Return the first table that has all columns of the sample."""
    answers: Path | None = prepared.answers
    if prepared.answers.suffix.lower() == ".jsonl":
        answers = table_of_lines(prepared.answers, scratch)
    for table in filter(None, (answers, prepared.gold)):
        if set(header) <= set(header_of(table)):
            return table
    lacking = [name for name in header if answers is None or name not in header_of(answers)]
    what = f"lacks the sample submission's column {_listed(lacking)}, and no gold submission has all of them"
    raise SnapshotError([Problem(prepared.answers.name, 1, f"{what}: the true predictions are not known")])


def _same_rows(tables: tuple[Path, Path], key: tuple[str, ...], *, respelled: bool, once: bool) -> bool:
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


def _cells(table: Path, names: Sequence[str], *, respelled: bool = False) -> Iterator[object]:
    """Yield a column's cells, or tuples of several columns'; a row that is too short has none."""
    with table_rows(table) as rows:
        header = next(rows, (0, []))[1]
        places = [header.index(name) for name in names]
        for _, cells in rows:
            if len(cells) > max(places):
                picked = tuple(value(cells[place]) if respelled else cells[place] for place in places)
                yield picked if len(picked) > 1 else picked[0]


def _why_no_id(sample: Path, source: Path, header: Sequence[str]) -> str:
    first = header[0]
    asked, answered = Counter(_cells(sample, (first,))), Counter(_cells(source, (first,)))
    missing, unknown = (answered - asked).total(), (asked - answered).total()
    return (
        f"no column names the same rows as {source.name}: by {first!r}, {missing:,} answers are not asked for, and "
        f"{unknown:,} rows that are asked for have no answer"
    )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name[:80]) for name in names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"
