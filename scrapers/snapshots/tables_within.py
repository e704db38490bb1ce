"""Every table that a file holds, whatever its name: text, JSON records, either packed, or members of an archive."""

import bz2
import gzip
import io
import lzma
import re
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, TypeVar, cast

from scrapers.snapshots.archives import BROKEN, is_archive
from scrapers.snapshots.json_values import json_cell, json_values
from scrapers.snapshots.tables import (
    LONGEST_FIELD,
    NotCsv,
    Rows,
    as_text,
    delimiter_of,
    is_table,
    refuse_packed,
    rows_of,
)

_HEAD = 4096
"""First bytes that show the kind of a file."""
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f]")
_RECORDS = re.compile(rb'(\xef\xbb\xbf)?\s*(\[\s*)?\{\s*["}]')
_ZIP = b"PK\x03\x04"
_TAR, _TAR_AT = b"ustar", 257
_OPENERS: tuple[tuple[bytes, Callable[[Any], Any]], ...] = (
    (b"\x1f\x8b\x08", lambda file: gzip.GzipFile(fileobj=file)),
    (b"BZh", bz2.BZ2File),
    (b"\xfd7zXZ\x00", lzma.LZMAFile),
)
_DELIMITERS = (",", "\t", ";", "|")
_BLANK_LINES = 20
"""Most lines above a header."""
_FIRST = 100
"""First records, whose keys are the columns of all."""
_LONGEST_RECORD = 1 << 22
"""Characters; a longer line is not a table's row."""
_UNREADABLE = (*BROKEN, NotCsv, tarfile.TarError, RecursionError)

ItemT = TypeVar("ItemT")


def tables_within(path: Path, key: Sequence[str]) -> Iterator[tuple[str | None, Rows]]:
    """Yield each member of an archive, or None for the file itself, with its rows; files that are not tables have none.

    Consume the rows of one before asking for the next. A table's header has the columns of `key`. If a name promises such a
    table, or a zip archive, the file must be one to its end; otherwise a table ends where it becomes unreadable.

    Raises:
        NotCsv: a file named as a table, here or within a zip archive, is packed or cannot be tokenised.
        OSError: the file cannot be read; a damaged archive raises any of `BROKEN`.
    """
    is_named = is_table(path.name)
    with path.open("rb") as file:
        if is_archive(path):
            yield from _zipped(file, key)
        elif is_named and path.name.lower().endswith(".gz"):
            with gzip.GzipFile(fileobj=file) as stream:
                yield None, _rows(_buffered(stream), key, path.name)
        elif is_named:
            refuse_packed(file.peek(_HEAD))
            yield None, _rows(file, key, path.name)
        elif file.peek(_HEAD).startswith(_ZIP):
            yield from _while_readable(_zipped(file, key))
        else:
            yield from _while_readable(_unnamed(file, key))


def _zipped(file: IO[bytes], key: Sequence[str]) -> Iterator[tuple[str, Rows]]:
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            if not member.is_dir():
                yield member.filename, _zip_member(archive, member, key)


def _zip_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, key: Sequence[str]) -> Rows:
    with archive.open(member) as raw:
        if is_table(member.filename) and not member.filename.lower().endswith(".gz"):
            yield from _rows(_buffered(raw), key, member.filename)
        else:
            yield from _while_readable(_rows(_decompress(_buffered(raw)), key))


def _unnamed(file: io.BufferedReader, key: Sequence[str]) -> Iterator[tuple[str | None, Rows]]:
    file = _decompress(file)
    if not file.peek(_HEAD).startswith(_TAR, _TAR_AT):
        yield None, _while_readable(_rows(file, key))
        return
    with tarfile.open(fileobj=file, mode="r:") as archive:
        while (member := archive.next()) is not None:
            archive.members.clear()  # type: ignore[attr-defined]  # it would keep all of them
            if member.isreg() and (raw := archive.extractfile(member)) is not None:
                yield member.name, _while_readable(_rows(_decompress(_buffered(raw)), key))


def _decompress(file: io.BufferedReader) -> io.BufferedReader:
    """Return the content of a packed file; other files unchanged."""
    head = file.peek(_HEAD)
    opener = next((opener for signature, opener in _OPENERS if head.startswith(signature)), None)
    return file if opener is None else _buffered(opener(file))


def _buffered(file: Any) -> io.BufferedReader:
    return io.BufferedReader(cast(io.RawIOBase, file))


def _rows(file: io.BufferedReader, key: Sequence[str], name: str | None = None) -> Rows:
    """Yield the rows of a table; nothing for other files. A `name` is one that makes the file a table."""
    head = file.peek(_HEAD)[:_HEAD]
    if name is None and (not head or _BINARY.search(head)):
        return
    with as_text(file) as text:
        yield from _while_readable(_records(text)) if _RECORDS.match(head) else _lines(text, key, name)


def _lines(text: io.TextIOWrapper, key: Sequence[str], name: str | None) -> Rows:
    lines = iter(partial(text.readline, LONGEST_FIELD + 1), "")
    opening: list[str] = []
    for line in islice(lines, _BLANK_LINES):
        opening.append(line)
        if line.strip():
            break
    header, own_delimiter = opening[-1:], delimiter_of(name or "")
    delimiter = _delimiter(header, own_delimiter, key)
    rows = rows_of(chain(opening, lines), delimiter)
    promised = name is not None and delimiter == own_delimiter and set(key) <= set(_split(header, own_delimiter))
    yield from rows if promised else _while_readable(rows)


def _records(text: io.TextIOWrapper) -> Rows:
    records = (value for _, value in json_values(text, _LONGEST_RECORD) if isinstance(value, dict))
    first: list[dict[str, Any]] = []
    first.extend(_while_readable(islice(records, _FIRST)))
    header = list(dict.fromkeys(name for record in first for name in record))
    yield 1, header
    for number, record in enumerate(chain(first, records), start=2):
        yield number, [json_cell(record.get(name)) for name in header]


def _delimiter(header: list[str], own_delimiter: str, key: Sequence[str]) -> str:
    """Return the delimiter that splits a header into the key and others, else into the most cells; blanks if none does."""
    split = {delimiter: _split(header, delimiter) for delimiter in (own_delimiter, *_DELIMITERS)}
    best = max(split, key=lambda delimiter: (set(key) <= set(split[delimiter]), len(split[delimiter])))
    return best if len(split[best]) > 1 else " "


def _split(header: list[str], delimiter: str) -> list[str]:
    empty: list[str] = []
    return next(_while_readable(rows_of(header, delimiter)), (0, empty))[1]


def _while_readable(items: Iterator[ItemT]) -> Iterator[ItemT]:
    """Yield items until their source becomes unreadable."""
    try:
        yield from items
    except OSError as error:
        if error.errno is not None:  # the disk's own; a damaged archive has none
            raise
    except _UNREADABLE:
        return
