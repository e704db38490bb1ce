"""A table: which records are its rows, and the names and formats of its columns."""

import csv
import lzma
import math
import re
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count, islice, pairwise
from pathlib import Path

from .cell_formats import NA_WORDS, PLAIN, PLAIN_NUMBER, CellFormat, DateFormat, is_number
from .column_formats import column_formats
from .row_times import RowTime, date_format, find_row_time
from .text_records import HEAD_ROWS, Record, TableError, TextRecords

_SAMPLED_ROWS = 4000
"""Rows, spread over the whole table, from which formats are detected."""
_LONGEST_FOOTER = 12
"""In rows."""
_TOTAL = re.compile(
    r"(?:grand |sub[- ]?)?(?:totals?|sum|gesamt|summe|insgesamt|totaal|totale|totaux|suma)(?:[ :(].{0,30})?$",
    re.IGNORECASE,
)
_STATISTIC = re.compile(
    r"(?:mean|average|avg|median|min|max|minimum|maximum|std|stdev|count|mittelwert)\W*", re.IGNORECASE
)
_NOTE = re.compile(
    r"[*†(\[]|(?:notes?|sources?|remarks?|quelle|hinweis|generated|exported|printed|created|copyright|end of)\b|\d+ rows",
    re.IGNORECASE,
)
_MAX_SHORT_SHARE = 0.01
"""Maximum share of rows that lack cells at their ends; with more, the table is damaged or read wrongly."""
_DEADLINE_FACTOR = 2
"""A table that cannot be read in blocks is cut off after so many times the seconds that it may take."""
_DIGITS = re.compile(r"-?\d+(?:\.\d+)?")
"""A number that is plain already."""
_JOINED = -1
"""The place of the joined column."""


@dataclass(frozen=True)
class UserTable:
    """A readable table: every row has as many cells as the header, whose names are distinct."""

    path: Path
    header: tuple[str, ...]
    length: int
    """Rows without the header."""
    formats: Mapping[str, CellFormat]
    """The formats of columns of numbers and dates; other columns hold words."""
    has_header: bool
    """Whether its first row names the columns."""
    notes: tuple[str, ...]
    """How it was read, where that is unusual, in clauses."""
    is_part: bool
    """Whether rows were left out because reading all would take too long."""
    _rows: "_Rows" = field(repr=False)
    _places: tuple[int, ...] = field(repr=False)
    _joined: tuple[tuple[int, DateFormat | None], ...] = field(repr=False)
    """The places and formats of the columns that are joined to a time."""
    _row_time: RowTime | None = field(repr=False)

    @property
    def name(self) -> str:
        """The file's name, for sentences."""
        return self.path.name

    def without_columns(self, names: Iterable[str]) -> "UserTable":
        """Return the table without these columns."""
        columns = [(n, place) for n, place in zip(self.header, self._places, strict=True) if n not in {*names}]
        return replace(self, header=tuple(n for n, _ in columns), _places=tuple(place for _, place in columns))

    def without_time_of(self, name: str) -> "UserTable":
        """Return the table without a time that was joined from this column, as no other column may hold the target."""
        if self._row_time is None or name not in self._row_time.columns.values():
            return self
        if self._row_time.name not in self._row_time.columns.values():
            return self.without_columns([self._row_time.name])
        return replace(self, _places=tuple(self._joined[0][0] if p == _JOINED else p for p in self._places))

    def with_name(self, name: str, new_name: str) -> "UserTable":
        """Return the table with a column renamed, if it has that column."""
        formats = {new_name if key == name else key: value for key, value in self.formats.items()}
        return replace(self, header=tuple(new_name if n == name else n for n in self.header), formats=formats)

    def with_formats(self, formats: Mapping[str, CellFormat]) -> "UserTable":
        """Return the table with other formats for these columns."""
        return replace(self, formats={**self.formats, **formats})

    def without_formats(self, names: Iterable[str]) -> "UserTable":
        """Return the table with the cells of these columns as written in the file."""
        plain_names = frozenset(names)
        return replace(self, formats={name: f for name, f in self.formats.items() if name not in plain_names})

    @classmethod
    def read(
        cls,
        path: Path,
        *,
        has_header: bool | None = None,
        formats: Mapping[str, CellFormat] | None = None,
        max_seconds: float = math.inf,
    ) -> "UserTable":
        """Read and check a table from its first row to its last.

        Args:
            path: a text file, perhaps packed (`OPENERS`).
            has_header: whether the first row names the columns; None: detect it.
            formats: formats of columns, from another table of the same data.
            max_seconds: rows are left out of a large table that takes longer to read and to write for scripts.

        Raises TableError: it cannot be read.
        """
        try:
            deadline = time.monotonic() + _DEADLINE_FACTOR * max_seconds
            return cls._checked(path, TextRecords.open(path, max_seconds), has_header, formats or {}, deadline)
        except csv.Error as error:
            raise TableError(f"{path.name} cannot be read as a table: {error}") from error
        except (OSError, EOFError, lzma.LZMAError) as error:
            raise TableError(f"{path.name} cannot be read: {getattr(error, 'strerror', None) or error}") from error

    @classmethod
    def _checked(
        cls,
        path: Path,
        records: TextRecords,
        has_header: bool | None,
        of_data: Mapping[str, CellFormat],
        deadline: float,
    ) -> "UserTable":
        head = [cells for _, cells in islice(records, HEAD_ROWS)]
        if not head:
            raise TableError(f"{path.name} is empty")
        if has_header is None:
            has_header = not _is_data(head[0], head[1:])
        names, usual, notes = _columns(path.name, head, has_header=has_header)
        skipped = int(has_header)
        if has_header and (units := _units(head[1:])) is not None:
            skipped, notes = 2, [*notes, f"the line below the header is skipped because it contains no values: {units}"]
        rows = _Rows(records, skipped, len(names), usual, tuple(head[0]) if has_header else ())
        survey = _survey(path.name, rows, deadline)
        if not survey.rows:
            raise TableError(f"{path.name} has a header but no rows")
        places = tuple(i for i, name in enumerate(names) if name or survey.is_filled[i])
        header = _distinct([names[i] for i in places], places)
        if not has_header:
            notes = [*notes, "its first row looks like data, so columns are numbered (use --header if it has names)"]
        sample = {name: [row[i] for _, row in survey.sample] for name, i in zip(header, places, strict=True)}
        formats, doubts = column_formats(sample, records.delimiter)
        formats |= {name: of_data[name] for name in header if name in of_data}
        notes += [*records.notes, *survey.notes, *(text for name, text in doubts.items() if name not in of_data)]
        joined: tuple[tuple[int, DateFormat | None], ...] = ()
        if (row_time := find_row_time(sample, formats)) is not None:
            sources = list(row_time.columns.values())
            notes.append(f"`{row_time.name}` combines the time from {', '.join(sources)}")
            joined = tuple((places[header.index(name)], date_format(formats, name)) for name in sources)
            if row_time.name in header:
                places = tuple(_JOINED if n == row_time.name else i for n, i in zip(header, places, strict=True))
            else:
                header, places = (row_time.name, *header), (_JOINED, *places)
        is_part = records.stride > 1 or survey.is_part
        facts = (path, header, survey.rows, formats, has_header, tuple(notes), is_part)
        return cls(*facts, _rows=rows, _places=places, _joined=joined, _row_time=row_time)

    def rows(self) -> Iterator[list[str]]:
        """Yield the rows in order: numbers and dates are plain, missing values are empty."""
        return self.columns(self.header)

    def column(self, name: str) -> Iterator[str]:
        """Yield a column's cells in order."""
        return (cells[0] for cells in self.columns([name]))

    def columns(self, names: Iterable[str]) -> Iterator[list[str]]:
        """Yield the cells of these columns for each row."""
        sources = [(self._places[self.header.index(name)], self.formats.get(name)) for name in names]
        joined = next((number for number, (place, _) in enumerate(sources) if place == _JOINED), None)
        if joined is None or self._row_time is None:
            yield from self._cells(sources)
            return
        sources[joined] = (0, None)
        for cells in self._cells([*sources, *self._joined]):
            cells[joined] = self._row_time.join(cells[len(sources) :])
            yield cells[: len(sources)]

    def _cells(self, sources: Sequence[tuple[int, CellFormat | None]]) -> Iterator[list[str]]:
        """Yield the cells at these places of each row, as their formats read them."""
        columns = [(place, cell_format, cell_format == PLAIN) for place, cell_format in sources]
        width = 1 + max(place for place, _ in sources)
        for _, cells in islice(self._rows, self.length):  # a footer follows these
            cells = cells if len(cells) >= width else cells + [""] * (width - len(cells))
            yield [
                text
                if not (text := cells[place]) or f is None or (is_plain and _DIGITS.fullmatch(text))
                else f.plain(text)
                for place, f, is_plain in columns
            ]


@dataclass(frozen=True)
class _Rows:
    """The rows among a table's records, which may also be the header, its repetitions, blank lines and lines of text."""

    records: TextRecords
    skipped: int
    """Records of the header."""
    width: int
    usual: int
    """Cells that most rows have."""
    header: tuple[str, ...]

    def __iter__(self) -> Iterator[Record]:
        """Yield the rows, including those of a footer."""
        return (record for record in islice(self.records, self.skipped, None) if not self.is_filler(record[1]))

    def is_filler(self, cells: Sequence[str]) -> bool:
        """Whether a record is not a row; where blocks are left out, a record may also be cut."""
        is_odd = len(cells) < self.usual or any(cells[self.width :]) or any("\n" in cell for cell in cells)
        is_filler = not any(cells) or (len(cells) == 1 and self.width > 2) or self.repeats_header(cells)
        return is_filler or (is_odd and self.records.stride > 1)

    def repeats_header(self, cells: Sequence[str]) -> bool:
        """Whether a record repeats the header, as in concatenated files."""
        return self.header[:1] == tuple(cells[:1]) and self.header == tuple(cells)


@dataclass
class _Survey:
    """Facts on all rows of a table."""

    is_filled: list[bool]
    """Which columns hold anything."""
    rows: int = 0
    sample: list[tuple[int, list[str]]] = field(default_factory=list)
    """Rows spread over the table, each with its number."""
    notes: list[str] = field(default_factory=list)
    is_part: bool = False
    """Whether the last rows were left out."""


def _survey(name: str, rows: _Rows, deadline: float) -> _Survey:
    """Read all rows.

    Raises TableError: a row has more cells than the header, many have fewer, or a quote swallows rows.
    """
    width = rows.width
    survey, short, stride = _Survey([False] * width), list[int](), 1
    blank = repeats = 0
    tail, is_after_blank = deque[tuple[int, list[str], bool]](maxlen=_LONGEST_FOOTER), False
    for line, cells in islice(rows.records, rows.skipped, None):
        if rows.is_filler(cells):
            is_after_blank, is_header = True, rows.repeats_header(cells)
            blank, repeats = blank + (not is_header), repeats + is_header
            continue
        if len(cells) > width and any(cells[width:]):
            raise TableError(
                f"{name}:{line}: the row has {len(cells)} cells, but the header has {width}; "
                "put cells that contain the separator in quotes"
            )
        _refuse_swallowed_rows(name, line, cells, rows.records.delimiter, width)
        tail.append((line, cells, is_after_blank))
        is_after_blank = False
        if len(cells) < width:
            if len(cells) < rows.usual:
                short.append(line)
            cells = cells + [""] * (width - len(cells))
        if not all(survey.is_filled):
            survey.is_filled = [is_filled or cells[i] != "" for i, is_filled in enumerate(survey.is_filled)]
        if survey.rows % stride == 0:
            survey.sample.append((survey.rows, cells))
            if len(survey.sample) >= 2 * _SAMPLED_ROWS:
                survey.sample, stride = survey.sample[::2], 2 * stride
        survey.rows += 1
        if rows.records.stride == 1 and survey.rows % _SAMPLED_ROWS == 0 and time.monotonic() > deadline:
            survey.is_part = True
            survey.notes.append(f"only the first {survey.rows:,} rows were read because time ran out (see --time)")
            break
    if footer := _footer(tail, survey):
        survey.rows -= len(footer)
        survey.sample = [(number, cells) for number, cells in survey.sample if number < survey.rows]
        short = [line for line in short if line < footer[0][0]]
        text = next(cell for cell in footer[0][1] if cell)
        survey.notes.append(f"{_rows_are(len(footer))} skipped at the end as a footer: {text[:40]}")
    if len(short) > max(1, _MAX_SHORT_SHARE * survey.rows) or (short and survey.rows < 1 / _MAX_SHORT_SHARE):
        raise TableError(
            f"{name}:{short[0]}: {len(short):,} of {survey.rows:,} rows have fewer cells than the header, which has {width}; "
            "this row is the first"
        )
    if short:
        share = f"{len(short):,} of {survey.rows:,} rows"
        survey.notes.append(f"{share} have too few cells; the first such row is on line {short[0]}")
    if blank:
        survey.notes.append(f"{_rows_are(blank)} skipped because all cells are empty")
    if repeats:
        survey.notes.append(f"{_rows_are(repeats)} skipped because they repeat the header")
    return survey


def _rows_are(count: int) -> str:
    return f"{count:,} rows are" if count > 1 else "1 row is"


def _footer(tail: Sequence[tuple[int, list[str], bool]], survey: _Survey) -> list[tuple[int, list[str], bool]]:
    """Return the last rows if they hold totals or notes instead of values."""
    footer: list[tuple[int, list[str], bool]] = []
    for line, cells, is_after_blank in reversed(tail):
        places = [place for place, cell in enumerate(cells) if cell]
        place, text = places[0], cells[places[0]]
        earlier = [row[place] for number, row in survey.sample if number < survey.rows - len(footer) - 1 and row[place]]
        is_new = text not in earlier
        is_alone = len(places) == 1 and (len(cells) == 1 or len(survey.is_filled) > 2)
        is_note = is_alone and _NOTE.match(text) is not None
        is_text = any(map(str.isalpha, text)) and not is_number(text) and text.lower() not in NA_WORDS
        is_odd = is_after_blank or 2 * sum(map(is_number, earlier)) > len(earlier)
        # In a column of distinct names, Max may be a name.
        is_statistic = _STATISTIC.fullmatch(text) and (is_odd or (is_new and 2 * len({*earlier}) < len(earlier)))
        if not (is_note or (is_new and _TOTAL.match(text)) or is_statistic or (is_text and is_odd and is_alone)):
            break
        footer.insert(0, (line, cells, is_after_blank))
    return footer if len(footer) < survey.rows else []


def _refuse_swallowed_rows(name: str, line: int, cells: Sequence[str], delimiter: str, width: int) -> None:
    """Raise TableError if a cell holds lines that look like rows, as after a quote that is not closed."""
    for cell in cells if width > 2 else ():
        inner = cell.splitlines()[1:-1] if "\n" in cell else []
        if len(inner) > 1 and 2 * sum(text.count(delimiter) >= width - 1 for text in inner) > len(inner):
            raise TableError(
                f"{name}:{line - len(inner) - 1}: an unclosed quote extends over the next {len(inner)} rows: close it, or "
                "double it if it is part of a cell"
            )


def _units(rows: Sequence[Sequence[str]]) -> str | None:
    """Return the words of the row below the header if it holds units or the like in all columns of numbers."""
    first, later_rows = (rows[0], rows[1:]) if rows else ((), ())
    if all(not cell or is_number(cell) for cell in first):
        return None
    numeric = [
        place
        for place in range(len(first))
        if any(len(cells) > place and cells[place] for cells in later_rows)
        and all(is_number(cells[place]) for cells in later_rows if len(cells) > place and cells[place])
    ]
    words = [first[place] for place in numeric if first[place]]
    are_words = all(word.lower() not in NA_WORDS and not is_number(word) for word in words)
    return ", ".join(words[:3]) if len(later_rows) > 2 and len(words) > 1 and are_words else None


def _columns(name: str, head: Sequence[list[str]], *, has_header: bool) -> tuple[list[str], int, list[str]]:
    """Return a name (perhaps empty) for each possible cell of a row, the usual number of cells, and notes."""
    rows = [cells for cells in head[has_header:] if any(cells)]
    usual_width = Counter(map(len, rows)).most_common(1)[0][0] if rows else len(head[0])
    if not has_header:
        return [f"column_{number}" for number in range(1, usual_width + 1)], usual_width, []
    names = list(head[0])
    names[0] = names[0].removeprefix("#").strip()
    if usual_width == len(names) + 1 and any(cells[-1] for cells in rows if len(cells) == usual_width):
        return ["", *names], usual_width, [f"the first column of {name} has no name"]  # as R writes row names
    if usual_width < len(names) and not any(names[usual_width:]):
        names = names[:usual_width]
    return names, min(usual_width, len(names)), []


def _distinct(names: Sequence[str], places: Sequence[int]) -> tuple[str, ...]:
    """Return distinct names as pandas does: `Unnamed: 3` for an empty name, `x.1` for a second x."""
    distinct: dict[str, None] = {}
    for name, place in zip(names, places, strict=True):
        base = name or f"Unnamed: {place}"
        candidates = chain((base,), (f"{base}.{n}" for n in count(1)))
        distinct[next(name for name in candidates if name not in distinct)] = None
    return tuple(distinct)


def _is_data(first: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether a first row holds values like the rows below it, rather than names.

    Each column of numbers then starts with a number. Ascending integers, such as years, are names.
    """
    rows = [cells for cells in rows if len(cells) == len(first)]
    unequal_rows = [cells for cells in rows if cells != first]  # concatenated files repeat the header
    if len(rows) < 2 or "" in first or len(first) < 2:
        return False
    numeric = [
        i for i in range(len(first))
        if all(PLAIN_NUMBER.fullmatch(cells[i]) for cells in unequal_rows if cells[i]) and any(cells[i] for cells in unequal_rows)
    ]  # fmt: skip
    if numeric and not all(PLAIN_NUMBER.fullmatch(first[i]) for i in numeric):
        return False
    words = [i for i in range(len(first)) if i not in numeric]
    repeats = [i for i in words if any(cells[i] == first[i] for cells in rows)]
    if not numeric:
        return len(repeats) > len(words) / 2
    names = [first[i] for i in numeric]
    integers = [int(name) for name in names if name.isdigit()]
    is_ascending = len(integers) == len(names) > 1 and all(b > a for a, b in pairwise(integers))
    return bool(repeats) or not (is_ascending or (len(names) < 2 and words))
