"""Which column of a submission is the id and which are predictions, and where their true values stand."""

import itertools
import zlib
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
_SHOWN = 5


@dataclass(frozen=True)
class Columns:
    """The parts of a submission's table."""

    header: tuple[str, ...]
    """Of the sample submission, in its order."""
    id_column: str
    predictions: tuple[str, ...]
    source: Path
    """The table that has all of these columns with the true values."""
    respelled: bool
    """Whether the source spells ids otherwise than the sample (`1.0` for `1`)."""
    notes: tuple[str, ...]
    """What a reader would not expect."""


def choose_columns(prepared: Prepared, sample: Path, scratch: Path) -> Columns:
    """Compare the sample submission with the answers, and with the gold submission where the answers lack a column.

    The first column that names each row once, and the same rows in both, is the id: the sample's first one by custom.

    Args:
        prepared: the competition's files.
        sample: its sample submission, unpacked.
        scratch: an existing folder for a table that has to be made.

    Raises:
        SnapshotError: no table has all columns, or no single column is an id.
    """
    header = header_of(sample)
    if len(set(header)) != len(header) or len(header) < 2 or not all(header):
        what = f"cannot be a submission with an id: its columns are {_listed(header) or 'none'}"
        raise SnapshotError([Problem(sample.name, 1, what)])
    source = _truth(prepared, header, scratch)
    notes = [] if source == prepared.answers else [f"the true values are those of {source.name}"]
    for respelled, name in itertools.product((False, True), header):
        if _is_id((sample, source), name, respelled=respelled):
            if name != header[0]:
                notes.append(f"the id is {name!r}, as the first column, {header[0]!r}, does not name each row once")
            if respelled:
                notes.append(f"the ids of {source.name} are spelled as the sample spells them")
            rest = tuple(column for column in header if column != name)
            return Columns(header, name, rest, source, respelled, tuple(notes))
    raise SnapshotError([Problem(sample.name, None, _why_no_id(sample, source, header))])


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


def _is_id(tables: tuple[Path, Path], name: str, *, respelled: bool) -> bool:
    """Whether a column names each row of both tables once, and the same rows."""
    parts = 1 + max(table.stat().st_size for table in tables) // BYTES_AT_ONCE
    for part in range(parts):
        sets = []
        for table in tables:
            ids, many = set(), 0
            for cell in _cells(table, (name,), respelled=respelled):
                if zlib.crc32(str(cell).encode(errors="surrogateescape")) % parts == part:
                    ids.add(cell)
                    many += 1
            if len(ids) < many:
                return False
            sets.append(ids)
        if sets[0] != sets[1]:
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
    asked, answered = list(_cells(sample, (first,))), list(_cells(source, (first,)))
    twice = len(asked) - len(set(asked))
    if not twice:
        missing, unknown = len(set(answered) - set(asked)), len(set(asked) - set(answered))
        return (
            f"no column names the same rows as {source.name}, each once: by {first!r}, {missing:,} answers are not asked for, "
            f"{unknown:,} that are asked for have no answer, and {len(answered) - len(set(answered)):,} are there again"
        )
    said = f"no single column names each row once ({first!r} repeats in {twice:,} of {len(asked):,} rows)"
    for width in range(2, _WIDEST_KEY + 1):
        key = header[:width]
        if width < len(header) and len(set(_cells(sample, key))) == len(asked):
            said += f"; only {_listed(key)} together do"
            break
    return f"{said}. A snapshot has one id column, so this cannot be represented"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name[:80]) for name in names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"
