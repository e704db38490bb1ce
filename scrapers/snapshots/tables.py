"""Tables of text, read row by row in bounded memory: cells, the numbers they spell, and the keys of rows."""

import contextlib
import csv
import gzip
import io
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

_ARCHIVES = ((b"PK\x03\x04", "a zip archive"), (b"\x1f\x8b", "packed with gzip"))
"""The first bytes of files that are not tables, with their kinds."""
LONGEST_FIELD = 16_000_000  # characters; a stray quote must not swallow a whole file
_END = 1_000_000
"""Bytes at a table's end in which its last row is looked for."""
_LONGEST_ROW = 200
"""Most lines of a row that are tried."""


class NotCsv(Exception):
    """A file that cannot be read as a table; the text gives the reason, `line` the place, if known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


Rows = Iterator[tuple[int, list[str]]]
"""Line number from 1, and the cells."""


@contextlib.contextmanager
def open_table(path: Path) -> Iterator[Rows]:
    """Open a table of a folder (`.csv`, `.tsv`, either with `.gz`) as rows, the header first, without blank lines.

    Different bytes that are not UTF-8 stay different, so that ids do. Iterating over the rows raises NotCsv if the table
    cannot be tokenised, and whatever reading the file raises.

    Raises:
        NotCsv: it is an archive, whatever its name.
    """
    with path.open("rb") as raw:
        if path.name.lower().endswith(".gz"):
            with gzip.open(raw) as stream, as_text(stream) as text:
                yield rows_of(text, delimiter_of(path.name))
        else:
            refuse_packed(raw.peek(4))
            with as_text(raw) as text:
                yield rows_of(text, delimiter_of(path.name))


def refuse_packed(head: bytes) -> None:
    """Raise NotCsv if these first bytes are an archive's."""
    for signature, kind in _ARCHIVES:
        if head.startswith(signature):
            raise NotCsv(f"is {kind}, despite its name: unpack it")


def ends_within_row(path: Path) -> bool:
    """Return whether a plain table ends in the middle of a row, by its last line; one that ends with a line end does not.

    A cut within the last cell of a row cannot be seen.

    Raises:
        OSError: it cannot be read.
    """
    if path.name.lower().endswith(".gz"):
        return False  # gzip has a checksum
    with path.open("rb") as raw:
        header = raw.readline(_END)
        size = raw.seek(0, io.SEEK_END)
        raw.seek(max(len(header), size - _END))
        end = raw.read()
    if not end or end.endswith((b"\n", b"\r")):
        return False
    delimiter = delimiter_of(path.name)
    width = len(_only_row(header, delimiter) or ())
    lines = end.splitlines(keepends=True)
    # The last row may be several lines long, where a quoted cell holds line ends.
    candidates = (b"".join(lines[-count:]) for count in range(1, min(len(lines), _LONGEST_ROW) + 1))
    return width > 1 and not any(len(_only_row(line, delimiter) or ()) >= width for line in candidates)


def _only_row(content: bytes, delimiter: str) -> list[str] | None:
    """Return the cells of the one row that a content is; None if it is not one whole row."""
    text = content.decode("utf-8", "replace")
    try:
        rows = list(
            csv.reader(
                io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=delimiter == " ", strict=True
            )
        )
    except csv.Error:
        return None
    return rows[0] if len(rows) == 1 else None


def as_text(binary: IO[bytes] | gzip.GzipFile) -> io.TextIOWrapper:
    """Read bytes as UTF-8 without a byte order mark; different invalid bytes stay different."""
    return io.TextIOWrapper(binary, encoding="utf-8-sig", errors="surrogateescape", newline="")


def rows_of(lines: Iterable[str], delimiter: str) -> Rows:
    """Yield a table's rows; if blanks separate the cells, several count as one. Raises NotCsv: it cannot be tokenised."""
    csv.field_size_limit(LONGEST_FIELD)
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter == " ")
    try:
        for cells in reader:
            if cells:
                yield reader.line_num, cells
    except csv.Error as error:
        raise NotCsv(f"cannot be read as CSV: {error}", reader.line_num) from None


def write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table of commas in UTF-8."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def is_table(name: str) -> bool:
    """Whether a file has the name of a table that `open_table` reads."""
    return name.lower().removesuffix(".gz").endswith((".csv", ".tsv"))


def delimiter_of(name: str) -> str:
    """Return the delimiter of cells by a table's name."""
    return "\t" if name.lower().removesuffix(".gz").endswith(".tsv") else ","


def read_number(text: str) -> float | None:
    """Return the number a text spells, ignoring blanks around it; None if it spells none.

    NaN and infinity count as numbers. `float()` also reads `0013_01` as 1301 and takes the digits of other scripts, which no
    other reader of tables does.
    """
    try:
        return float(text) if text.isascii() and "_" not in text else None
    except ValueError:
        return None


def finite_number(text: str) -> float | None:
    """Return the finite number a text spells; None if it spells none."""
    number = read_number(text)
    return number if number is not None and math.isfinite(number) else None


_JOINT = "\x1f"
_REPEATED_MARK = "\x1e"


def row_key(cells: Sequence[str]) -> str:
    """Return the cells of the id and of further key columns as one text; a single one is itself."""
    return cells[0] if len(cells) == 1 else _JOINT.join(cells)


def shown_key(key: str) -> str:
    """Return a key in a form fit for a sentence."""
    return key.replace(_JOINT, ", ").replace(_REPEATED_MARK, ", repeated: ")


class Repeats:
    """Distinguishes equal keys by their order: the first stays as it is, the others get a number."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def numbered(self, key: str) -> str:
        """Return a name for this row that is unique in its table."""
        self._seen[key] += 1
        times = self._seen[key]
        return key if times == 1 else f"{key}{_REPEATED_MARK}{times}"
