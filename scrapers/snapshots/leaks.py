"""The check that no file of `data/` leaks the answers."""

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path, PurePosixPath

from scrapers.snapshots.answers import ANSWERS, Answers, Value, value
from scrapers.snapshots.archives import BROKEN, is_archive
from scrapers.snapshots.files import DATA, walk
from scrapers.snapshots.problems import Problems
from scrapers.snapshots.tables import NotCsv, Repeats, Rows, is_table, row_key
from scrapers.snapshots.tables_within import tables_within
from state.files import sha256_of

_ANSWERS_NAME = PurePosixPath(ANSWERS).name
_FIRST_ROWS = 100
"""First rows in which a column with another name must have the ids of the answers."""
_MOST_KEYS = 5
"""Most such columns to try; small numbers are often ids too."""
_FEWEST_IDS = 10
"""Shared ids above which a column with another name does not equal the answers by chance."""
_TRUTH: dict[str, Value] = {"true": 1.0, "false": 0.0}


def check_leaks(root: Path, answers: Answers, problems: Problems, damaged: frozenset[str]) -> None:
    """Search every table of `data/`, but in archives that are `damaged`, for the answers, whatever its format and place."""
    with problems.reading(DATA):
        for path in walk(root / DATA):
            name = path.relative_to(root).as_posix()
            if path.is_file() and name not in damaged:
                check_for_answers(path, name, root / ANSWERS, answers, problems)


def check_for_answers(path: Path, name: str, answers_file: Path, answers: Answers, problems: Problems) -> None:
    """Search one file for the answers: by name, by the bytes of `answers_file`, and by column. Raises OSError."""
    if path.name.lower() == _ANSWERS_NAME:
        problems.add(name, "has the same name as the answers file, and agents can read data/", kind="answers by name")
    elif path.stat().st_size == answers_file.stat().st_size and sha256_of(path) == sha256_of(answers_file):
        problems.add(name, "is a copy of the answers", kind="answers by content")
    elif is_table(path.name) and path.stat().st_size == 0:
        problems.add(name, "is empty")
    else:
        _check_tables(path, name, answers, problems)


def _check_tables(path: Path, name: str, answers: Answers, problems: Problems) -> None:
    try:
        for member, rows in tables_within(path, answers.rows):
            place = "" if member is None else f"its member {member[:200]!r} "
            if member is not None and PurePosixPath(member.lower()).name == _ANSWERS_NAME:
                problems.add(name, f"{place}has the same name as the answers file, and agents can read data/")
            else:
                columns = leaked_columns(rows, answers)
                names = ", ".join(repr(column) for column in columns[:5])
                message = f"{place}reveals the answers: the values of {names} match {ANSWERS} on all shared ids"
                if columns:
                    problems.add(name, message, kind="answers by content")
    except NotCsv as error:
        problems.add(name, f"a table inside it {error}" if is_archive(path) else str(error), error.line)
    except BROKEN as error:
        problems.add(name, f"cannot be read completely: {error}")


def leaked_columns(rows: Rows, answers: Answers) -> list[str]:
    """Return the columns of a table that hold the answers.

    A prediction column holds them if it equals that of the answers on all shared ids and is not constant there; any
    column does if it names, on all shared ids, the one prediction column whose answer is 1 while the others are 0. A
    column with another name that equals a prediction column counts from ten shared ids on, as does any column if the id
    has another name. If most ids repeat, the n-th row of an id belongs to its n-th answer; otherwise repeated ids are
    ignored. Reading ends as soon as no column can hold the answers any more.

    Raises:
        NotCsv: the table cannot be tokenised.
    """
    header = next(rows, (0, []))[1]
    first = [cells for _, cells in islice(rows, _FIRST_ROWS)]
    keys = list(_keys(header, first, answers))
    for cells in chain(first, (cells for _, cells in rows)) if keys else ():
        keys = [key for key in keys if key.agrees(cells)]
        if not keys:
            break
    return sorted({column for key in keys for column in key.columns()})


def _keys(header: list[str], first: Sequence[list[str]], answers: Answers) -> Iterator["_Key"]:
    """Yield the key columns by name; for a single one also columns with its ids in most of the first rows."""
    places: list[int] = []
    if set(answers.rows) <= set(header):
        places = [header.index(column) for column in answers.rows]
        yield _Key(places, header, answers, named=True)
    if len(answers.rows) > 1:
        return
    id_name, counts = answers.rows[0].strip().lower(), dict[int, int]()
    for place, name in enumerate(header):
        ids = [cells[place] for cells in first if place < len(cells) and cells[place] in answers.values]
        different = len(set(ids))
        are_ids = 2 * len(ids) > len(first) and different >= _FEWEST_IDS
        if place not in places and (are_ids or name.strip().lower() == id_name):
            counts[place] = different
    for place in sorted(counts, key=lambda place: -counts[place])[:_MOST_KEYS]:
        if header[place] in answers.values:  # there is no header
            key = _Key([place], [f"column {number}" for number in range(1, len(header) + 1)], answers, named=False)
            if key.agrees(header):
                yield key
        else:
            yield _Key([place], header, answers, named=False)


class _Key:
    """Key columns of a table, and the other columns that have held the answers so far."""

    def __init__(self, places: Sequence[int], header: Sequence[str], answers: Answers, *, named: bool) -> None:
        self._places, self._header, self._answers, self._named = places, header, answers, named
        self._repeats = Repeats()
        self._ids: set[str] = set()
        """Shared ids so far, at most as many as are needed."""
        self._possible = {place: mask for place in range(len(header)) if (mask := self._initial_bits(place))}
        """By place, a bit for each prediction column that may be there, and one for the name of the column that is 1."""
        self._seen: dict[int, set[Value]] = {place: set() for place in self._possible}
        """At most two different answers: one is a constant."""

    def agrees(self, cells: Sequence[str]) -> bool:
        """Whether any column still holds the answers with this row."""
        values, places = self._answers.values, self._places
        key = row_key([cells[place] for place in places]) if max(places) < len(cells) else None
        if key in values and self._answers.numbered:
            key = self._repeats.numbered(key)
        truth = values.get(key) if key is not None else None
        if key is None or truth is None:
            return True
        if len(self._ids) < _FEWEST_IDS:
            self._ids.add(key)
        bits = _columns_by_value(truth, self._answers.columns)
        read: dict[str, tuple[Value, int]] = {}
        for place, mask in list(self._possible.items()):
            cell = cells[place] if place < len(cells) else None
            if cell is not None and cell not in read:
                plain = _plain(value(cell))
                read[cell] = plain, bits.get(plain, 0)
            plain, matching = read[cell] if cell is not None else ("", 0)
            if not mask & matching:
                del self._possible[place]
                continue
            self._possible[place] = mask & matching
            if len(values_seen := self._seen[place]) < 2:
                values_seen.add(plain)
        return bool(self._possible)

    def columns(self) -> Iterator[str]:
        """Yield the columns that hold the answers."""
        is_enough = len(self._ids) >= _FEWEST_IDS
        for place, mask in self._possible.items():
            if len(self._seen[place]) > 1 and (is_enough or (self._named and mask & self._name_bits(place))):
                yield self._header[place]

    def _initial_bits(self, place: int) -> int:
        if place in self._places:
            return 0
        mask = (1 << len(self._answers.columns)) - 1 if self._answers.predicted else 0
        return mask | self._name_bits(place)

    def _name_bits(self, place: int) -> int:
        """Return the bits for a column's own name, or for the name of a class: beside the key's own name few ids suffice."""
        columns, name = self._answers.columns, self._header[place]
        if name in self._answers.rows:
            return 0
        if name in columns:
            return 1 << columns.index(name)
        return 1 << len(columns) if len(columns) > 1 else 0


def _columns_by_value(truth: tuple[Value, ...], columns: tuple[str, ...]) -> dict[Value, int]:
    """Return, for each value of a row of the answers, a bit for each column that has it; see `_Key`."""
    bits: dict[Value, int] = {}
    for number, truth_value in enumerate(truth):
        plain = _plain(truth_value)
        bits[plain] = bits.get(plain, 0) | 1 << number
    if truth.count(1.0) == 1 and truth.count(0.0) == len(truth) - 1:
        name = _plain(value(columns[truth.index(1.0)]))
        bits[name] = bits.get(name, 0) | 1 << len(columns)
    return bits


def _plain(value: Value) -> Value:
    """Return 1 and 0 for true and false, however they are written: JSON has them as words."""
    return _TRUTH.get(value.lower(), value) if isinstance(value, str) else value
