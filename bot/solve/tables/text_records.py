"""The records of a text file: its encoding, its separator, and where its header is."""

import bz2
import codecs
import csv
import gzip
import io
import lzma
import math
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from .cell_formats import is_number

OPENERS: Mapping[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
SUFFIXES = (".csv", ".tsv", ".tab", ".psv")
TEXT_SUFFIXES = (".txt", ".dat", ".data")
"""Suffixes of files that may also be prose."""
HEAD_ROWS = 200
_DELIMITERS = ",;\t|"
_LONGEST_CELL = 16_000_000
"""In characters: a quote that is never closed must not swallow a whole file."""
_BLOCK_BYTES = 1 << 18
_MIN_BYTES, _MEASURED_BYTES, _MEASURED_SHARE = 2_000_000, 4_000_000, 1 / 8
"""The bytes that are always read; and the maximum bytes, and share of a file, by which reading speed is measured."""
_PACKED_BYTES, _PASSES = 4, 25
"""Unpacked bytes per packed byte; and how many times as long as parsing it takes to read and write all rows."""
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ARCHIVE_MARKS = (
    (b"PK\x03\x04", "a zip archive or an Excel workbook"),
    (b"\x1f\x8b", "compressed with gzip"),
    (b"PAR1", "a Parquet file"),
)
_R_NA = re.compile(r"(?<![^,;\t])NA(?![^,;\t\r\n])")


class TableError(Exception):
    """A file cannot be read as a table."""


Record = tuple[int, list[str]]
"""The line at which it ends (within its block, if some are skipped), and its cells."""


@dataclass(frozen=True)
class TextRecords:
    """The records of a text file, and how they are parsed."""

    path: Path
    encoding: str
    delimiter: str
    escape: str | None
    skipped: int
    """Records before the header: titles, comments."""
    quotes_words: bool
    """Whether all names are quoted, as R does: then a bare NA is a missing value."""
    notes: tuple[str, ...]
    stride: int = 1
    """Of so many blocks of lines, one is read."""

    @classmethod
    def open(cls, path: Path, max_seconds: float) -> "TextRecords":
        """Detect how to parse a file; blocks are left out if reading all would take longer than `max_seconds`."""
        marked = _marked_encoding(path)
        head = "".join(islice(_lines(path, marked or "utf-8"), 4 * HEAD_ROWS))[:_BLOCK_BYTES]
        if "\0" in head:
            raise TableError(f"{path.name} is not text: save it as CSV")
        forced = re.match(r"sep=(.)\r?\n", head)
        delimiter, escape = (forced[1], None) if forced else _dialect(head, path.name)
        rows = [cells for _, cells in islice(_parse(io.StringIO(head, newline=""), delimiter, escape), HEAD_ROWS)]
        skipped = bool(forced) + _preamble(rows[bool(forced) :])
        lines = [line for line in head.splitlines() if line.strip()][skipped:]
        quoted = bool(lines) and all(part.strip().startswith('"') for part in lines[0].split(delimiter))
        records = cls(path, marked or "utf-8", delimiter, escape, skipped, quoted, ())
        if marked in (None, "utf-8-sig") and not any("\n" in cell for cells in rows for cell in cells):
            records = records._in_time(max_seconds)
        encoding, notes = (marked, ()) if marked else _encoding(path, records.stride)
        if skipped > bool(forced):
            lines_are = f"{skipped} lines before the header are" if skipped > 1 else "1 line before the header is"
            notes += (f"{lines_are} skipped",)
        return replace(records, encoding=encoding, notes=(*notes, *records.notes))

    def _in_time(self, max_seconds: float) -> "TextRecords":
        """Return the records with a stride that lets them be read in time, at the speed measured now."""
        size = self.path.stat().st_size * (_PACKED_BYTES if self.path.suffix.lower() in OPENERS else 1)
        if size < _MIN_BYTES or math.isinf(max_seconds):
            return self
        started = time.monotonic()
        bytes_read = 0
        for _, cells in self:
            bytes_read += sum(map(len, cells)) + len(cells)
            if bytes_read > min(_MEASURED_BYTES, _MEASURED_SHARE * size):
                break
        seconds = (time.monotonic() - started) / max(1, bytes_read) * size * _PASSES
        stride = math.ceil(min(seconds / max_seconds, size / _MIN_BYTES))
        if stride < 2:
            return self
        note = f"only one in {stride} blocks is read: all {size / 1e6:,.0f} MB would take about {seconds:,.0f} s"
        return replace(self, stride=stride, notes=(*self.notes, note))

    def __iter__(self) -> Iterator[Record]:
        """Yield the stripped cells of each record, starting with the header; empty lines are left out."""
        if self.stride == 1:
            records = self._records(_lines(self.path, self.encoding))
        else:
            texts = (block.decode(self.encoding, "as_cp1252") for block in _blocks(self.path, self.stride))
            records = chain.from_iterable(self._records(io.StringIO(text, newline="")) for text in texts)
        return ((line, list(map(str.strip, cells))) for line, cells in islice(records, self.skipped, None))

    def _records(self, lines: Iterable[str]) -> Iterator[Record]:
        if self.quotes_words:
            lines = (_without_na(line) if "NA" in line else line for line in lines)
        return _parse(lines, self.delimiter, self.escape)


def is_table(name: str, suffixes: Sequence[str] = SUFFIXES) -> bool:
    """Whether a file's name is that of a table, perhaps packed."""
    path = Path(name.lower())
    return (path.with_suffix("").suffix if path.suffix in OPENERS else path.suffix) in suffixes


def _preamble(rows: Sequence[Sequence[str]]) -> int:
    """Return how many records precede the header: they have fewer filled cells than rows."""
    usual = Counter(map(len, rows)).most_common(1)[0][0] if rows else 0
    if usual < 2:
        return 0
    for place, cells in enumerate(rows):
        count = sum(cell.strip() != "" for cell in cells)
        is_title = count == 0 or (count == 1 and usual > 2) or (cells[0].startswith("#") and len(cells) != usual)
        is_gappy = usual > 2 and count <= 0.67 * usual
        is_title |= is_gappy and any(_is_full(row, usual) for row in rows[place + 1 : place + 10])
        if not is_title and len(cells) >= usual - 1:
            return place if place < len(rows) - 1 else 0
    return 0


def _is_full(cells: Sequence[str], width: int) -> bool:
    """Whether a record may be a header without gaps."""
    return len(cells) == width == len(set(cells)) and all(cell.strip() and not is_number(cell) for cell in cells)


def _dialect(head: str, name: str) -> tuple[str, str | None]:
    """Return the separator and the escape that give most records the same number of cells, above one."""
    best_dialect: tuple[str, str | None]
    best, best_dialect = 0.0, ("\t" if {".tsv", ".tab"} & {*Path(name.lower()).suffixes} else ",", None)
    escapes = (None, "\\") if re.search(r"\\[\",;]", head) else (None,)
    for dialect in ((delimiter, escape) for escape in escapes for delimiter in (*_DELIMITERS, " ")):
        with suppress(csv.Error):
            rows = [cells for _, cells in islice(_parse(io.StringIO(head, newline=""), *dialect), HEAD_ROWS)]
            rows = rows[:-1] if len(rows) > 3 else rows  # the last may be cut
            (width, count), *_ = Counter(map(len, rows)).most_common(1) or [(1, 0)]
            blanks = dialect[0] == " "
            is_odd = count < len(rows) - (width - 1 in map(len, rows[:1]))  # R's row names have no header
            if width < 2 or (blanks and is_odd):
                continue
            before = next((place for place, cells in enumerate(rows) if len(cells) in (width, width - 1)), 0)
            score = count / len(rows) * (width - 1) / width * max(0.5**before, 0.1) * (0.3 if blanks else 1)
            best, best_dialect = (score, dialect) if score > best else (best, best_dialect)
    return best_dialect


def _parse(lines: Iterable[str], delimiter: str, escape: str | None) -> Iterator[Record]:
    csv.field_size_limit(_LONGEST_CELL)
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
    parts = enumerate(line.split('"'))
    return '"'.join(part if place % 2 else _R_NA.sub("", part) for place, part in parts)


def _blocks(path: Path, stride: int) -> Iterator[bytes]:
    """Yield one of `stride` blocks of whole lines, starting with the first."""
    with OPENERS.get(path.suffix.lower(), open)(path, "rb") as file:
        while block := file.read(_BLOCK_BYTES):
            yield block + file.readline()
            if stride > 1:
                file.seek((stride - 1) * _BLOCK_BYTES, io.SEEK_CUR)
                file.readline()


def _marked_encoding(path: Path) -> str | None:
    """Return the encoding that a file's first bytes mark; None: UTF-8, or an unmarked encoding.

    Raises TableError: the file is packed or has another format.
    """
    head = next(_blocks(path, 1), b"")
    for mark, kind in _ARCHIVE_MARKS:
        if head.startswith(mark):
            raise TableError(f"{path.name} is {kind}: save it as CSV, or unpack it")
    for mark, encoding in _BOMS:
        if head.startswith(mark):
            return encoding
    if head[:200].count(0) > len(head[:200]) // 4:
        return "utf-16-le" if head[1:2] == b"\0" else "utf-16-be"
    return None


def _encoding(path: Path, stride: int) -> tuple[str, tuple[str, ...]]:
    """Return a file's encoding: UTF-8, even with stray bytes, or else Windows-1252; and notes.

    Words without ASCII letters are Chinese, or else Cyrillic. Other encodings give wrong letters, the same ones in each table.
    """
    stray, letters, line, first, in_runs = 0, 0, 1, 0, 0
    for block in _blocks(path, stride):
        if not block.isascii():
            text = block.decode("utf-8", "surrogateescape")
            strays = re.findall("[\udc80-\udcff]", text)
            first = first or (line + text.count("\n", 0, text.index(strays[0])) if strays else 0)
            stray += len(strays)
            in_runs += sum(map(len, re.findall("[\udc80-\udcff]{3,}", text)))
            letters += len(re.findall(r"[^\x00-\x7f]", text)) - len(strays)
        line += block.count(b"\n")
    if not stray:
        return "utf-8", ()
    if letters <= 10 * stray:
        encoding = "cp1252" if in_runs < stray / 2 else "gb18030" if _decodes(path, "gb18030", stride) else "cp1251"
        name = encoding.replace("cp", "Windows-").replace("gb", "GB ")
        return encoding, (f"it is not UTF-8, so it was read as {name}",)
    bytes_read = "1 byte that is not UTF-8 was" if stray == 1 else f"{stray:,} bytes that are not UTF-8 were"
    place = f", {'the first ' if stray > 1 else ''}in line {first:,}" if stride == 1 else ""
    return "utf-8", (f"{bytes_read} read as Windows-1252{place}",)


def _decodes(path: Path, encoding: str, stride: int) -> bool:
    with suppress(UnicodeDecodeError):
        return all(block.decode(encoding) for block in _blocks(path, stride))
    return False


def _as_cp1252(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    wrong = error.object[error.start : error.end]
    return "".join(_CP1252.get(byte, chr(byte)) for byte in wrong), error.end


_CP1252 = {byte: bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in range(128, 256)}
codecs.register_error("as_cp1252", _as_cp1252)
