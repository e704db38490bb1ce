"""Tables as people have them: any common encoding, separator, header and way to write numbers, read row by row.

It needs nothing but the standard library, since `predict.py` of a solution reads new rows with this file, too. What is
read is plain: names as pandas gives them, numbers as `1234.5`, an empty cell where a value is missing. A word is a word: `None`
and `NA` are missing among numbers alone, or where the table was written by R, which quotes words.
"""

import bz2
import codecs
import csv
import gzip
import io
import lzma
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

DELIMITERS = ",;\t|"
OPENERS: Mapping[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
SUFFIXES = (".csv", ".tsv", ".tab", ".psv")
TEXT_SUFFIXES = (".txt", ".dat", ".data")
"""Of files that may as well be prose."""
LONGEST_CELL = 16_000_000
"""Characters; a quote that is never closed must not swallow a whole file."""
_HEAD_BYTES, _HEAD_ROWS = 1 << 18, 200
_SAMPLED_ROWS = 4000
"""Rows, spread over the whole table, by which the ways of writing numbers are told."""
_LONGEST_FOOTER = 12
"""Rows."""
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
_MOST_SHORT = 0.01
"""Share of rows that may lack cells at their ends; of more, the table is read wrongly or damaged."""
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ARCHIVE_MARKS = (
    (b"PK\x03\x04", "a zip archive or an Excel workbook"),
    (b"\x1f\x8b", "packed with gzip"),
    (b"PAR1", "Parquet"),
)

NA_WORDS = frozenset(
    ("na", "n/a", "#n/a", "nan", "null", "none", "nil", "<na>", "?", "-", "--", ".", "..", "missing", "unknown")
)
"""What stands for a missing value among numbers, in lower case."""
_PLAIN = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?inf(?:inity)?", re.IGNORECASE)
_SCALES = {"k": 1_000, "K": 1_000, "M": 1_000_000, "B": 1_000_000_000}
_SCALED = re.compile(r"([-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?)([kKMB])?")
"""A number that may stand for thousands, millions or billions: 1.2k."""
_DIGITS = re.compile(r"-?\d+(?:\.\d+)?")
"""The usual way to write a number, which stays as it is."""
_DECIMAL_COMMA = re.compile(r"[-+]?(?:\d{1,3}(?:[. ']\d{3})+|\d+)(?:,\d*)?(?:[eE][-+]?\d+)?|[-+]?,\d+")
_POINTED = re.compile(r"[-+]?(?:\d{1,3}|[1-9]\d{0,2}(?:\.\d{3})+)")
"""A whole number whose points may part thousands: 1.234."""
_THOUSANDS = re.compile(r"[-+]?(?:\d{1,3}(?:[,' ]\d{2,3})*[,' ]\d{3}|\d+)(?:\.\d*)?|[-+]?\.\d+")
_AMBIGUOUS = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")
"""A comma that may part thousands or decimals: 1,234."""
_CURRENCY = re.compile(r"^([-+(]?)\s*(?:[$€£¥₹]|USD|EUR|GBP|CHF)\s*|\s*(?:[$€£¥₹%]|USD|EUR|GBP|CHF)\s*(\)?)$")
_SPACES = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2212": "-", "\u2019": "'"})
_R_NA = re.compile(r"(?<![^,;\t])NA(?![^,;\t\r\n])")


class TableError(Exception):
    """A file that cannot be read as a table: a sentence that says where, and what to do."""


@dataclass(frozen=True)
class NumberFormat:
    """How a column writes its numbers."""

    decimal: str = "."
    thousands: str = ""
    """Characters that part groups of digits."""
    scaled: bool = False
    """Whether letters stand for thousands, millions and billions."""

    def plain(self, cell: str) -> str:
        """Return a number as `1234.5`, nothing for a missing one, and any other text as it is."""
        text = cell.strip()
        if text.lower() in NA_WORDS:
            return ""
        number = _bare(text)
        if self.scaled and (match := _SCALED.fullmatch(number)):
            return f"{float(match[1].replace(',', '')) * _SCALES.get(match[2], 1):.12g}"
        pattern = _DECIMAL_COMMA if self.decimal == "," else _THOUSANDS
        if not pattern.fullmatch(number):
            return number if _PLAIN.fullmatch(number) else cell
        for mark in self.thousands:
            number = number.replace(mark, "")
        return number.replace(self.decimal, ".")


PLAIN = NumberFormat()


@dataclass(frozen=True)
class DateFormat:
    """How a column writes its dates."""

    form: str
    """As of `strptime`; or `unix`, seconds or milliseconds since 1970; or `quarter`, such as 1949Q1."""

    def plain(self, cell: str) -> str:
        """Return a date in ISO 8601, nothing for a missing one, and any other text as it is."""
        if cell.strip().lower() in NA_WORDS:
            return ""
        try:
            date = self.read(cell.strip())
        except (ValueError, OverflowError, OSError):
            return cell
        has_time = self.form == "unix" or "%H" in self.form or "%I" in self.form
        return date.isoformat(" ", "seconds") if has_time else str(date.date())

    def read(self, text: str) -> datetime:
        """Return the time that a cell spells; raises ValueError where it spells none."""
        if self.form.startswith("%d.%m.%y") and len(text) < len("21.04.19"):
            raise ValueError("a version, such as 1.4.19")
        if self.form == "unix":
            seconds = float(text)
            return datetime.fromtimestamp(seconds / 1000 if seconds >= 1e11 else seconds, UTC).replace(tzinfo=None)
        if self.form == "quarter":
            if (match := _QUARTER.fullmatch(text)) is None:
                raise ValueError("no quarter")
            return datetime(int(match[1] or match[4]), 3 * int(match[2] or match[3]) - 2, 1)  # noqa: DTZ001
        return datetime.strptime(text, self.form)  # noqa: DTZ007 (as the table has it)

    def reads(self, text: str) -> bool:
        """Whether a cell spells a time in this form."""
        with suppress(ValueError, OverflowError, OSError):
            self.read(text)
            return True
        return False

    @property
    def swapped(self) -> "DateFormat | None":
        """The form with day and month in the other order; None: it has only one."""
        for first, second in (("%m", "%d"), ("%d", "%m")):
            for mark in "/-.":
                if self.form.startswith(f"{first}{mark}{second}"):
                    return DateFormat(f"{second}{mark}{first}{self.form[5:]}")
        return None


CellFormat = NumberFormat | DateFormat
_DAYS = (
    *("%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%m/%d/%y", "%d/%m/%y", "%d.%m.%Y", "%d.%m.%y", "%Y.%m.%d"),
    *("%m-%d-%Y", "%d-%m-%Y", "%d-%b-%Y", "%d-%b-%y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%a %b %d %Y"),
)
_MONTHS = ("%Y-%m", "%Y/%m", "%m/%Y", "%YM%m", "%b-%Y", "%b-%y", "%b %Y", "%B %Y", "%Y-%b", "%Y %b")
_HOURS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", ", %I:%M %p", "T%H:%M:%S")
DATE_FORMATS = tuple(DateFormat(form) for form in (*(d + h for d in _DAYS for h in _HOURS), *_MONTHS, "quarter"))
"""Beside ISO 8601; the first that reads all cells counts."""
_QUARTER = re.compile(r"(\d{4})[-: ]?Q([1-4])|Q([1-4])[-/ ]?(\d{4})", re.IGNORECASE)
_TIME_NAME = re.compile(
    r"(?:^|[\W_])(?:date|day|dt|ds|ts|time|timestamp|datetime|epoch|unix)$|(?:date|time|timestamp)(?:_?ms)?$",
    re.IGNORECASE,
)
_YEAR_NAME, _YEAR = re.compile(r"year|jahr|yr", re.IGNORECASE), re.compile(r"1[7-9]\d\d|20\d\d")
_BARE_DATE, _UNIX = re.compile(r"(?:19|20)\d{6}"), re.compile(r"1\d{9}(?:\d{3})?(?:\.\d+)?")


@dataclass(frozen=True)
class UserTable:
    """A readable table: its rows are as long as the header, whose names differ."""

    path: Path
    header: tuple[str, ...]
    length: int
    """Rows without the header."""
    formats: Mapping[str, "CellFormat"]
    """How columns of numbers and of dates write them; other columns hold words."""
    has_header: bool
    """Whether its first row names the columns."""
    notes: tuple[str, ...] = ()
    """What a reader should know of how it was read, in clauses."""
    _source: "_Source" = field(repr=False, kw_only=True)
    _kept_columns: tuple[int, ...] = field(repr=False, kw_only=True)
    _rows_of: "_RowFilter" = field(repr=False, kw_only=True)

    @property
    def name(self) -> str:
        """The file's name, for sentences."""
        return self.path.name

    @property
    def delimiter(self) -> str:
        """What parts its cells."""
        return self._source.delimiter

    def without_columns(self, names: Iterable[str]) -> "UserTable":
        """Return the table without these columns."""
        places = [place for place, name in enumerate(self.header) if name not in set(names)]
        kept_columns = tuple(self._kept_columns[place] for place in places)
        return replace(self, header=tuple(self.header[place] for place in places), _kept_columns=kept_columns)

    def with_name(self, name: str, new_name: str) -> "UserTable":
        """Return the table with another name for a column, if it has that column."""
        formats = {new_name if key == name else key: value for key, value in self.formats.items()}
        return replace(self, header=tuple(new_name if n == name else n for n in self.header), formats=formats)

    def with_formats(self, formats: "Mapping[str, CellFormat]") -> "UserTable":
        """Return the table with other ways in which columns write numbers and dates."""
        return replace(self, formats={**self.formats, **formats})

    def without_formats(self, names: Iterable[str]) -> "UserTable":
        """Return the table with the cells of these columns as they are written."""
        plain_names = frozenset(names)
        return replace(self, formats={name: f for name, f in self.formats.items() if name not in plain_names})

    @classmethod
    def read(
        cls, path: Path, *, has_header: bool | None = None, formats: "Mapping[str, CellFormat] | None" = None
    ) -> "UserTable":
        """Check a table from its first row to its last.

        Args:
            path: a text, perhaps packed (`OPENERS`).
            has_header: whether the first row names the columns; None: by its contents.
            formats: how columns write numbers and dates, as another table of the same data has them.

        Raises:
            TableError: it cannot be read.
        """
        try:
            source = _Source.open(path)
            return cls._checked(path, source, has_header, formats or {})
        except csv.Error as error:
            raise TableError(f"{path.name} cannot be read as a table: {error}") from error
        except (OSError, EOFError, lzma.LZMAError) as error:
            raise TableError(f"{path.name} cannot be read: {getattr(error, 'strerror', None) or error}") from error

    @classmethod
    def _checked(
        cls, path: Path, source: "_Source", has_header: bool | None, known_formats: "Mapping[str, CellFormat]"
    ) -> "UserTable":
        head = list(islice(source.records(), _HEAD_ROWS))
        if not head:
            raise TableError(f"{path.name} is empty")
        if has_header is None:
            has_header = not _is_data(head[0][1], [cells for _, cells in head[1:]])
        width, usual, names, notes = _columns(path.name, head, has_header=has_header)
        skipped = int(has_header)
        if has_header and (units := _units([cells for _, cells in head[1:]])) is not None:
            skipped, notes = 2, [*notes, f"the line below the header is left out, as it holds no values: {units}"]
        row_filter = _RowFilter(skipped, width, tuple(head[0][1]) if has_header else ())
        survey = _survey(path.name, source, row_filter, usual)
        if not survey.rows:
            raise TableError(f"{path.name} has a header and no rows")
        kept_rows, is_filled = [cells for _, cells in survey.sample], survey.is_filled
        kept_places = tuple(i for i, name in enumerate(names) if name or is_filled[i])
        header = _distinct([names[i] for i in kept_places], kept_places)
        if not has_header:
            notes = [*notes, "its first row looks like data, so columns are numbered (--header if it contains names)"]
        sample = {name: [row[i] for row in kept_rows] for name, i in zip(header, kept_places, strict=True)}
        formats, doubts = column_formats(sample, source.delimiter)
        formats |= {name: known_formats[name] for name in header if name in known_formats}
        notes += [*source.notes, *survey.notes, *(text for name, text in doubts.items() if name not in known_formats)]
        return cls(
            path,
            header,
            survey.rows,
            formats,
            has_header,
            tuple(notes),
            _source=source,
            _kept_columns=kept_places,
            _rows_of=row_filter,
        )

    def rows(self) -> Iterator[list[str]]:
        """Yield the rows in order: numbers are plain, cells that hold nothing are empty."""
        return self._read(range(len(self.header)))

    def column(self, name: str) -> Iterator[str]:
        """Yield a column's cells in order."""
        return (cells[0] for cells in self._read([self.header.index(name)]))

    def _read(self, columns: Sequence[int]) -> Iterator[list[str]]:
        """Yield these columns' cells of each row."""
        formats, places = [self.formats.get(self.header[i]) for i in columns], [self._kept_columns[i] for i in columns]
        usual = [f == PLAIN for f in formats]
        width = max(self._kept_columns) + 1
        for _, cells in islice(self._rows_of(self._source.records()), self.length):  # a footer is behind these
            cells = cells if len(cells) >= width else cells + [""] * (width - len(cells))
            yield [
                text if c is None or not text or (is_usual and _DIGITS.fullmatch(text)) else c.plain(text)
                for text, c, is_usual in zip([cells[place] for place in places], formats, usual, strict=True)
            ]


def is_table(name: str, suffixes: Sequence[str] = SUFFIXES) -> bool:
    """Whether a file has the name of a table, perhaps packed."""
    path = Path(name.lower())
    return (path.with_suffix("").suffix if path.suffix in OPENERS else path.suffix) in suffixes


@dataclass(frozen=True)
class _Source:
    """The records of a file: how its bytes are letters, and its letters are cells."""

    path: Path
    encoding: str
    delimiter: str
    escape: str | None
    skipped: int
    """Records before the header: titles, comments."""
    quotes_words: bool
    """Whether it is as R writes tables: all names quoted, so that a bare NA is a missing value."""
    notes: tuple[str, ...]

    @classmethod
    def open(cls, path: Path) -> "_Source":
        encoding, notes = _encoding(path)
        head = "".join(islice(_lines(path, encoding), 4 * _HEAD_ROWS))[:_HEAD_BYTES]
        if "\0" in head:
            raise TableError(f"{path.name} is not text: save it as CSV")
        forced = re.match(r"sep=(.)\r?\n", head)
        delimiter, escape = (forced[1], None) if forced else _dialect(head, path.name)
        records = _parse(io.StringIO(head, newline=""), delimiter, escape)
        try:
            rows = [cells for _, cells in islice(records, _HEAD_ROWS)]
        except csv.Error as error:
            raise TableError(f"{path.name} cannot be read as a table: {error}") from error
        skipped = int(bool(forced)) + _preamble(rows[bool(forced) :])
        if skipped > bool(forced):
            notes = (
                *notes,
                f"{skipped} line{'s' * (skipped > 1)} before the header {'are' if skipped > 1 else 'is'} left out",
            )
        lines = [line for line in head.splitlines() if line.strip()][skipped:]
        quoted = bool(lines) and all(part.strip().startswith('"') for part in lines[0].split(delimiter))
        return cls(path, encoding, delimiter, escape, skipped, quoted, notes)

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the line number and the stripped cells of each record, the header's first; empty lines are left out."""
        lines: Iterable[str] = _lines(self.path, self.encoding)
        if self.quotes_words:
            lines = (_without_na(line) if "NA" in line else line for line in lines)
        records = islice(_parse(lines, self.delimiter, self.escape), self.skipped, None)
        return ((line, [cell.strip() for cell in cells]) for line, cells in records)


@dataclass(frozen=True)
class _RowFilter:
    """Tells the rows of a table from other records: those above, blank ones, lines of text, and the header again."""

    skipped: int
    width: int
    header: tuple[str, ...]

    def __call__(self, records: Iterable[tuple[int, list[str]]]) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows, those of a footer included."""
        return ((line, cells) for line, cells in islice(records, self.skipped, None) if not self.is_filler(cells))

    def is_filler(self, cells: Sequence[str]) -> bool:
        """Whether a record is no row."""
        return not any(cells) or (len(cells) == 1 and self.width > 2) or self.repeats_header(cells)

    def repeats_header(self, cells: Sequence[str]) -> bool:
        """Whether a record names the columns once more, as where files were put one behind the other."""
        return self.header[:1] == tuple(cells[:1]) and self.header == tuple(cells)


@dataclass
class _Survey:
    """What was seen of all rows."""

    is_filled: list[bool]
    """Which columns hold anything."""
    rows: int = 0
    sample: list[tuple[int, list[str]]] = field(default_factory=list)
    """Rows spread over the table, and the number of each."""
    notes: list[str] = field(default_factory=list)


def _survey(name: str, source: _Source, row_filter: _RowFilter, usual: int) -> _Survey:
    """Read all rows, of which most have as many cells as is usual.

    Raises:
        TableError: a row has more cells than the header, many have fewer, or a quote swallows rows.
    """
    width = row_filter.width
    survey, short, stride = _Survey([False] * width), list[int](), 1
    blank = repeats = 0
    tail, is_after_blank = deque[tuple[int, list[str], bool]](maxlen=_LONGEST_FOOTER), False
    for line, cells in islice(source.records(), row_filter.skipped, None):
        if row_filter.is_filler(cells):
            is_after_blank, is_header = True, row_filter.repeats_header(cells)
            blank, repeats = blank + (not is_header), repeats + is_header
            continue
        if len(cells) > width and any(cells[width:]):
            raise TableError(
                f"{name}:{line}: the row has {len(cells)} cells, but the header has {width}; "
                "put cells that hold the separator in quotes"
            )
        _refuse_swallowed_rows(name, line, cells, source.delimiter, width)
        tail.append((line, cells, is_after_blank))
        is_after_blank = False
        if len(cells) < width:
            if len(cells) < usual:
                short.append(line)
            cells = cells + [""] * (width - len(cells))
        if not all(survey.is_filled):
            survey.is_filled = [was or cells[i] != "" for i, was in enumerate(survey.is_filled)]
        if survey.rows % stride == 0:
            survey.sample.append((survey.rows, cells))
            if len(survey.sample) >= 2 * _SAMPLED_ROWS:
                survey.sample, stride = survey.sample[::2], 2 * stride
        survey.rows += 1
    if footer := _footer(tail, survey):
        survey.rows -= len(footer)
        survey.sample = [(number, cells) for number, cells in survey.sample if number < survey.rows]
        short = [line for line in short if line < footer[0][0]]
        text = next(cell for cell in footer[0][1] if cell)
        survey.notes.append(f"{_rows(len(footer))} left out at the end, as a footer: {text[:40]}")
    if len(short) > max(1, _MOST_SHORT * survey.rows) or (short and survey.rows < 1 / _MOST_SHORT):
        raise TableError(
            f"{name}:{short[0]}: the row has fewer cells than the header, which has {width}; "
            f"{len(short):,} of {survey.rows:,} rows are like that"
        )
    if short:
        survey.notes.append(
            f"{len(short):,} of {survey.rows:,} rows lack cells at their ends, the first in line {short[0]}"
        )
    if blank:
        survey.notes.append(f"{_rows(blank)} left out, without values")
    if repeats:
        survey.notes.append(f"{_rows(repeats)} left out, as the header is repeated there")
    return survey


def _rows(count: int) -> str:
    return f"{count:,} rows are" if count > 1 else "1 row is"


def _footer(tail: Sequence[tuple[int, list[str], bool]], survey: _Survey) -> list[tuple[int, list[str], bool]]:
    """Return the last rows that hold totals or notes in place of values."""
    footer: list[tuple[int, list[str], bool]] = []
    for line, cells, is_after_blank in reversed(tail):
        places = [place for place, cell in enumerate(cells) if cell]
        place, text = places[0], cells[places[0]]
        earlier = [row[place] for number, row in survey.sample if number < survey.rows - len(footer) - 1 and row[place]]
        stands_apart = is_after_blank or 2 * sum(_is_number(cell) for cell in earlier) > len(earlier)
        is_alone = len(places) == 1 and (len(cells) == 1 or len(survey.is_filled) > 2)
        is_total = _TOTAL.match(text) is not None and text not in earlier
        is_note = is_alone and _NOTE.match(text) is not None
        is_text = any(map(str.isalpha, text)) and not _is_number(text) and text.lower() not in NA_WORDS
        if not (is_total or is_note or (is_text and stands_apart and (is_alone or _STATISTIC.fullmatch(text)))):
            break
        footer.insert(0, (line, cells, is_after_blank))
    return footer if len(footer) < survey.rows else []


def _is_number(cell: str) -> bool:
    number = _bare(cell)
    return any(pattern.fullmatch(number) for pattern in (_PLAIN, _DECIMAL_COMMA, _THOUSANDS))


def _refuse_swallowed_rows(name: str, line: int, cells: Sequence[str], delimiter: str, width: int) -> None:
    """Raise TableError if a cell holds lines that look like rows, as where a quote is not closed."""
    for cell in cells if width > 2 else ():
        inner = cell.splitlines()[1:-1] if "\n" in cell else []
        if len(inner) > 1 and 2 * sum(text.count(delimiter) >= width - 1 for text in inner) > len(inner):
            raise TableError(
                f"{name}:{line - len(inner) - 1}: a quote swallows the {len(inner)} rows below it: close it, or double it "
                "within a cell"
            )


def _units(rows: Sequence[Sequence[str]]) -> str | None:
    """Return the first row below a header if it says units or the like in all columns that hold numbers."""
    first, later_rows = (rows[0], rows[1:]) if rows else ((), ())
    numeric = [
        place
        for place in range(len(first))
        if any(len(cells) > place and cells[place] for cells in later_rows)
        and all(_is_number(cells[place]) for cells in later_rows if len(cells) > place and cells[place])
    ]
    words = [first[place] for place in numeric if first[place]]
    are_words = all(word.lower() not in NA_WORDS and not _is_number(word) for word in words)
    return ", ".join(words[:3]) if len(later_rows) > 2 and len(words) > 1 and are_words else None


def _columns(
    name: str, head: Sequence[tuple[int, list[str]]], *, has_header: bool
) -> tuple[int, int, list[str], list[str]]:
    """Return how many cells rows may have, how many most have, a name for each (perhaps empty), and notes."""
    rows = [cells for _, cells in head[has_header:] if any(cells)]
    widest = Counter(map(len, rows)).most_common(1)[0][0] if rows else len(head[0][1])
    if not has_header:
        return widest, widest, [f"column_{number}" for number in range(1, widest + 1)], []
    names = list(head[0][1])
    names[0] = names[0].removeprefix("#").strip()
    if widest == len(names) + 1 and any(cells[-1] for cells in rows if len(cells) == widest):
        return widest, widest, ["", *names], [f"the first column of {name} has no name"]  # as R writes row names
    if widest < len(names) and not any(names[widest:]):
        names = names[:widest]
    return len(names), min(widest, len(names)), names, []


def _distinct(names: Sequence[str], places: Sequence[int]) -> tuple[str, ...]:
    """Return names as pandas makes them: `Unnamed: 3` for none, `x.1` for a second x."""
    distinct: dict[str, None] = {}
    for name, place in zip(names, places, strict=True):
        base = name or f"Unnamed: {place}"
        distinct[
            next(way for way in (base, *(f"{base}.{n}" for n in range(1, len(names) + 1))) if way not in distinct)
        ] = None
    return tuple(distinct)


def _is_data(first: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether a first row holds values as those below it, rather than names.

    Each column of numbers begins with a number then. Numbers that count on, as years or places do, are names.
    """
    rows = [cells for cells in rows if len(cells) == len(first)]
    unequal_rows = [cells for cells in rows if cells != first]  # where files were put one behind the other
    if len(rows) < 2 or "" in first or len(first) < 2:
        return False
    numeric = [
        i for i in range(len(first))
        if all(_PLAIN.fullmatch(cells[i]) for cells in unequal_rows if cells[i]) and any(cells[i] for cells in unequal_rows)
    ]  # fmt: skip
    if numeric and not all(_PLAIN.fullmatch(first[i]) for i in numeric):
        return False
    words = [i for i in range(len(first)) if i not in numeric]
    repeats = [i for i in words if any(cells[i] == first[i] for cells in rows)]
    if not numeric:
        return len(repeats) > len(words) / 2
    names = [first[i] for i in numeric]
    integers = [int(name) for name in names if name.isdigit()]
    counts_on = len(integers) == len(names) > 1 and all(b > a for a, b in pairwise(integers))
    return bool(repeats) or not (counts_on or (len(names) < 2 and words))


def _preamble(rows: Sequence[Sequence[str]]) -> int:
    """Return how many first records stand before the header: they have fewer filled cells than any table's row."""
    usual = Counter(map(len, rows)).most_common(1)[0][0] if rows else 0
    if usual < 2:
        return 0
    for place, cells in enumerate(rows):
        count = sum(cell.strip() != "" for cell in cells)
        is_title = count == 0 or (count == 1 and usual > 2) or (cells[0].startswith("#") and len(cells) != usual)
        is_title |= (
            usual > 2 and count <= 0.67 * usual and any(_is_full(row, usual) for row in rows[place + 1 : place + 10])
        )
        if not is_title and len(cells) >= usual - 1:
            return place if place < len(rows) - 1 else 0
    return 0


def _is_full(cells: Sequence[str], width: int) -> bool:
    """Whether a record may be a header without gaps."""
    return len(cells) == width == len(set(cells)) and all(cell.strip() and not _is_number(cell) for cell in cells)


def _dialect(head: str, name: str) -> tuple[str, str | None]:
    """Return the separator and the escape by which most records have equally many cells, and more than one."""
    best_dialect: tuple[str, str | None]
    best, best_dialect = 0.0, ("\t" if {".tsv", ".tab"} & {*Path(name.lower()).suffixes} else ",", None)
    escapes = (None, "\\") if re.search(r"\\[\",;]", head) else (None,)
    for dialect in ((delimiter, escape) for escape in escapes for delimiter in (*DELIMITERS, " ")):
        with suppress(csv.Error):
            rows = [cells for _, cells in islice(_parse(io.StringIO(head, newline=""), *dialect), _HEAD_ROWS)]
            rows = rows[:-1] if len(rows) > 3 else rows  # the last may be cut
            (width, count), *_ = Counter(map(len, rows)).most_common(1) or [(1, 0)]
            blanks = dialect[0] == " "
            if width < 2 or (blanks and count < len(rows)):
                continue
            before = next((place for place, cells in enumerate(rows) if len(cells) in (width, width - 1)), 0)
            score = count / len(rows) * (width - 1) / width * max(0.5**before, 0.1) * (0.3 if blanks else 1)
            best, best_dialect = (score, dialect) if score > best else (best, best_dialect)
    return best_dialect


def _parse(lines: Iterable[str], delimiter: str, escape: str | None) -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(LONGEST_CELL)
    reader = csv.reader(
        lines, delimiter=delimiter, escapechar=escape, doublequote=escape is None, skipinitialspace=delimiter in " ,;"
    )
    return ((reader.line_num, cells) for cells in reader if cells)


def _lines(path: Path, encoding: str) -> Iterator[str]:
    with (
        OPENERS.get(path.suffix.lower(), open)(path, "rb") as raw,
        io.TextIOWrapper(raw, encoding=encoding, errors="as_cp1252", newline="") as text,
    ):
        yield from text


def _without_na(line: str) -> str:
    """Blank each NA that stands outside quotes."""
    return "".join(part if place % 2 else _R_NA.sub("", part) for place, part in _quoted_parts(line))


def _quoted_parts(line: str) -> Iterator[tuple[int, str]]:
    parts = line.split('"')
    for place, part in enumerate(parts):
        yield place, part if place == len(parts) - 1 else f'{part}"'


def _encoding(path: Path) -> tuple[str, tuple[str, ...]]:
    """Return how a file's bytes are letters: UTF-8, even with stray bytes, or else Windows-1252.

    Other encodings of one byte a letter become other letters in this way, yet the same ones in each table.
    """
    with OPENERS.get(path.suffix.lower(), open)(path, "rb") as raw:
        head = raw.read(_HEAD_BYTES)
        for mark, kind in _ARCHIVE_MARKS:
            if head.startswith(mark):
                raise TableError(f"{path.name} is {kind}: save it as CSV, or unpack it")
        for mark, encoding in _BOMS:
            if head.startswith(mark):
                return encoding, ()
        if head[:200].count(0) > len(head[:200]) // 4:
            return ("utf-16-le" if head[1:2] == b"\0" else "utf-16-be"), ()
        decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        stray, letters, line, first = 0, 0, 1, 0
        chunk = head
        while chunk:
            if not (chunk.isascii() and not decoder.getstate()[0]):
                text = decoder.decode(chunk)
                for letter in filter(None, re.findall(r"[^\x00-\x7f]", text)):
                    if "\udc80" <= letter <= "\udcff":
                        stray += 1
                    else:
                        letters += 1
                if stray and not first:
                    first = line + text.count("\n", 0, re.search("[\udc80-\udcff]", text).start())  # type: ignore[union-attr]
            line += chunk.count(b"\n")
            chunk = raw.read(_HEAD_BYTES)
    if not stray:
        return "utf-8", ()
    if letters > 10 * stray:
        return "utf-8", (f"{stray:,} byte{'s' * (stray > 1)} that {'are' if stray > 1 else 'is'} not UTF-8 "
                         f"{'were' if stray > 1 else 'was'} read as Windows-1252, the first in line {first:,}",)  # fmt: skip
    return "cp1252", ("it is not UTF-8, so it was read as Windows-1252",)


def _as_cp1252(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    wrong = error.object[error.start : error.end]
    return "".join(_CP1252.get(byte, chr(byte)) for byte in wrong), error.end


_CP1252 = {byte: bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in range(128, 256)}
codecs.register_error("as_cp1252", _as_cp1252)


def column_formats(
    columns: Mapping[str, Sequence[str]], delimiter: str
) -> tuple[dict[str, CellFormat], dict[str, str]]:
    """Return how columns write their numbers and dates, from sampled cells, and doubts by column, in clauses.

    Columns of words are left out. A comma of `1,234`, or a point of `1.234`, may part thousands or decimals, and 1/2/2019 may be
    in January or February: other cells of the column tell, then other columns, then the separator of cells, which is no comma
    where commas part decimals.
    """
    formats: dict[str, CellFormat] = {}
    unsure: list[str] = []
    pointed: list[str] = []
    doubts: dict[str, str] = {}
    cells_of = {name: [_bare(c) for c in cells if c and c.lower() not in NA_WORDS] for name, cells in columns.items()}
    for name, numbers in cells_of.items():
        if not numbers:
            continue
        if all(map(_PLAIN.fullmatch, numbers)):
            is_bare = set(numbers) <= set(columns[name])
            formats[name] = _bare_dates(name, numbers) or (PLAIN if is_bare else NumberFormat(".", ",' "))
            if all(map(_POINTED.fullmatch, numbers)) and any("." in n for n in numbers):
                pointed.append(name)
        elif all(_THOUSANDS.fullmatch(n) or _PLAIN.fullmatch(n) for n in numbers):
            commas = [n for n in numbers if "," in n]
            all_ambiguous = commas and all(map(_AMBIGUOUS.fullmatch, commas))
            certain = not commas or not all_ambiguous or any("." in n for n in numbers) or (
                len(numbers) > len(commas) and all(len(n.lstrip("+-")) <= 3 for n in numbers if "," not in n)
            )  # fmt: skip
            formats[name] = NumberFormat(".", ",' ")
            if not certain:
                unsure.append(name)
        elif all(map(_DECIMAL_COMMA.fullmatch, numbers)):
            formats[name] = NumberFormat(",", ".' ")
        elif all(map(_SCALED.fullmatch, numbers)):
            formats[name] = NumberFormat(scaled=True, thousands=",")
    sure = [f for name, f in formats.items() if name not in unsure]
    has_decimal_commas = any(isinstance(f, NumberFormat) and f.decimal == "," for f in sure)
    has_points = any(
        "." in n for name, f in formats.items() if f is PLAIN and name not in pointed for n in cells_of[name]
    )
    if has_decimal_commas or (delimiter != "," and not has_points and not pointed):
        formats |= dict.fromkeys(unsure, NumberFormat(",", ".' "))
    if has_decimal_commas and not has_points:
        formats |= dict.fromkeys(pointed, NumberFormat(",", ".' "))
    dates = {
        name: date_forms for name, cells in cells_of.items() if name not in formats and (date_forms := _dates(cells))
    }
    orders = {f.form[:2] for f, second_form in dates.values() if second_form is None and f.swapped is not None}
    for name, (form, second_form) in dates.items():
        is_day_first = orders == {"%d"} or (not orders and (has_decimal_commas or delimiter == ";"))
        formats[name] = second_form if second_form is not None and is_day_first and form.form.startswith("%m") else form
        if second_form is not None:
            example = next(cell for cell in cells_of[name] if form.read(cell) != second_form.read(cell))
            read = formats[name].plain(example)
            doubts[name] = f"`{name}` may have day and month in either order: {example} was read as {read}"
    return formats, doubts


def _dates(cells: Sequence[str]) -> tuple[DateFormat, DateFormat | None] | None:
    """Return how cells write dates if not by ISO 8601, and a second way that is as likely; None: they are not all dates."""
    if not cells or not cells[0][:1].isalnum() or not any(map(str.isdigit, cells[0])):
        return None
    for form in DATE_FORMATS:
        if not all(map(form.reads, cells)):
            continue
        swapped = form.swapped
        if (
            swapped is None
            or not all(map(swapped.reads, cells))
            or all(form.read(cell) == swapped.read(cell) for cell in cells)
        ):
            return form, None
        counts = [len({re.split(r"[/.-]", cell)[part] for cell in cells}) for part in (0, 1)]
        if 1 in counts and max(counts) > 1:  # by the month: the day is always the same
            return (form if form.form.startswith("%d") == (counts[0] == 1) else swapped), None
        in_order = [read for read in (form, swapped) if _is_in_order([read.read(cell) for cell in cells])]
        return (in_order[0], None) if len(in_order) == 1 else (form, swapped)
    return None


def _is_in_order(times: Sequence[datetime]) -> bool:
    return all(a <= b for a, b in pairwise(times)) or all(a >= b for a, b in pairwise(times))


def _bare_dates(name: str, cells: Sequence[str]) -> DateFormat | None:
    """Return how a column that is named like a time writes it in digits alone: 20190421, seconds since 1970, years in order."""
    if _YEAR_NAME.fullmatch(name) and len(set(cells)) == len(cells) > 1 and all(map(_YEAR.fullmatch, cells)):
        return DateFormat("%Y") if _is_in_order([DateFormat("%Y").read(cell) for cell in cells]) else None
    if _TIME_NAME.search(name) is None:
        return None
    if all(map(_UNIX.fullmatch, cells)):
        return DateFormat("unix")
    bare = DateFormat("%Y%m%d")
    return bare if all(_BARE_DATE.fullmatch(cell) and bare.reads(cell) for cell in cells) else None


def _bare(text: str) -> str:
    """Return a number without currency, percent sign and accountant's brackets."""
    text = text.strip().translate(_SPACES)
    text = f"-{text[:-1]}" if text[-1:] == "-" and text[:1].isdigit() else text  # as accountants have it
    if text[-1:].isdigit() and text[:1].isdigit():
        return text
    bare = _CURRENCY.sub(r"\1\2", text).strip()
    if bare.startswith("(") and bare.endswith(")") and bare[1:2].isdigit():
        return f"-{bare[1:-1]}"
    return bare
