"""Reads the rows of an untrusted CSV file: in bounded memory, with a sentence on any fault."""

import csv
import errno
import io
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from state.errors import InvalidSubmission

_HEAD = 4096
_LONGEST_CELL = 2**31 - 1
_MAX_CHARACTERS = 60
_SURROGATE = re.compile(r"(?<!\\)\\udc([89a-f][0-9a-f])")
_NOT_TEXT = (
    (b"PK\x03\x04", "a zip archive or an Excel workbook"),
    (b"\x1f\x8b", "compressed with gzip"),
    (b"PAR1\x15", "a Parquet file"),
    (b"\x89PNG", "a PNG image"),
)
"""What scripts write instead most often, by its first bytes."""
_ERRORS = {
    errno.ENOENT: "does not exist",
    errno.ENOTDIR: "does not exist",
    errno.EACCES: "cannot be read: permission denied",
    errno.EPERM: "cannot be read: permission denied",
    errno.ELOOP: "is a symbolic link that points back to itself",
    errno.ENAMETOOLONG: "cannot exist: its name is too long",
}


@dataclass(frozen=True)
class CsvReadLimits:
    """How much of a file is read before it is refused."""

    file_bytes: int
    """A larger file is refused unread."""
    row_characters: int
    """Of the longest row, its line ends included; what the reader needs for one is ten times as many bytes or less."""


class UntrustedRows:
    """The rows of an open file: `header`, then each with its number (from 1, below the header); blank lines are skipped."""

    def __init__(self, text: io.TextIOWrapper, name: str, limits: CsvReadLimits) -> None:
        """Read the header. Raises InvalidSubmission: there is none."""
        self.name = name
        self._text = text
        self.limits = limits
        self._pending = self._total = 0
        self._number = -1
        # The limit is the csv module's own and cannot be set per reader; ours is on rows.
        csv.field_size_limit(_LONGEST_CELL)
        self._reader = csv.reader(self._lines())
        self.header: list[str] = next((row for _, row in self), [])
        if not self.header:
            raise InvalidSubmission(f"{name} is empty.")
        self._number = 0

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        for row in self._reader:
            self._pending = 0
            self._number += 1
            if len(row) > 1 or (row and row[0].strip()):
                yield self._number, row

    def _lines(self) -> Iterator[str]:
        longest = self.limits.row_characters
        while line := self._text.readline(longest + 1 - self._pending):
            self._pending += len(line)
            self._total += len(line)
            if self._pending > longest:
                hint = "; it may contain an unclosed quote" if self._pending > len(line) else ""
                raise InvalidSubmission(f"{self._place()} is longer than {longest:,} characters{hint}.")
            if self._total > self.limits.file_bytes:
                raise InvalidSubmission(f"{self.name} grew while it was being read.")
            yield line
        if self._pending:
            raise InvalidSubmission(f"{self._place()} has an opening quote but no closing quote.")

    def _place(self) -> str:
        return f"{self.name}, row {self._number + 1}" if self._number >= 0 else f"{self.name}: the header"


@contextmanager
def open_rows(path: Path, limits: CsvReadLimits) -> Iterator[UntrustedRows]:
    """Open a comma-separated file with a header, UTF-8 with or without a mark, whatever its line ends.

    Bytes that are not UTF-8 become surrogates (`errors="surrogateescape"`), so that errors can quote a cell. At most
    one row is in memory. Links are followed; what is not a plain file is never opened.

    Raises InvalidSubmission: any fault of the file, within the block too.
    """
    name = shown_name(path)
    with _open_untrusted(path, name) as raw:
        before = os.fstat(raw.fileno())
        if before.st_size > limits.file_bytes:
            raise InvalidSubmission(f"{name} has {before.st_size:,} bytes; at most {limits.file_bytes:,} are allowed.")
        head = raw.read(_HEAD)
        raw.seek(0)
        if (fault := _fault_of_head(head)) is not None:
            raise InvalidSubmission(f"{name} {fault}.")
        text = io.TextIOWrapper(io.BufferedReader(raw), encoding="utf-8-sig", errors="surrogateescape", newline="")
        try:
            yield UntrustedRows(text, name, limits)
        except csv.Error as error:
            _refuse_changed(raw, before, name)
            raise InvalidSubmission(f"{name} cannot be read as CSV: {error}.") from error
        except OSError as error:
            raise InvalidSubmission(f"{name} cannot be read: {error.strerror or error}.") from error
        except InvalidSubmission:
            _refuse_changed(raw, before, name)
            raise
        _refuse_changed(raw, before, name)


def fault_of_place(path: Path) -> str | None:
    """Return a sentence on why there is no plain file at a path; None if there is one."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        return f"{shown_name(path)} {_reason(path, error)}."
    if stat.S_ISREG(mode):
        return None
    return f"{shown_name(path)} {'is a folder' if stat.S_ISDIR(mode) else 'is not a plain file'}."


def shown_name(path: Path) -> str:
    """Return a file's name in a form fit for a sentence: no line ends, no unprintable characters."""
    return path.name if path.name.isprintable() and len(path.name) <= _MAX_CHARACTERS else short(path.name)


def short(text: str) -> str:
    """Return a text in quotes, its beginning if it is long; bytes that are not UTF-8 as `repr` of bytes writes them."""
    return _SURROGATE.sub(r"\\x\1", repr(text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}…"))


def foreign_bytes(text: str) -> bytes:
    """Return the bytes of a text that are not UTF-8, of which `open_rows` makes surrogates."""
    if text.isascii():
        return b""
    try:
        text.encode()
    except UnicodeEncodeError:
        return bytes(ord(letter) - 0xDC00 for letter in text if "\udc80" <= letter <= "\udcff")
    return b""


def _fault_of_head(head: bytes) -> str | None:
    """Return the kind of a file that is not UTF-8 text by its first bytes, as the rest of a sentence; None if it may be."""
    for beginning, file_type in _NOT_TEXT:
        if head.startswith(beginning):
            return f"is not CSV: it is {file_type}"
    return "contains a NUL byte, so it is not UTF-8 text" if 0 in head else None


@contextmanager
def _open_untrusted(path: Path, name: str) -> Iterator[io.FileIO]:
    if (fault := fault_of_place(path)) is not None:
        raise InvalidSubmission(fault)
    try:
        # Not to wait for a writer, should a pipe have taken the file's place since.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError as error:
        raise InvalidSubmission(f"{name} {_reason(path, error)}.") from error
    with io.FileIO(descriptor) as raw:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise InvalidSubmission(f"{name} is not a plain file.")
        yield raw


def _reason(path: Path, error: OSError | ValueError) -> str:
    if not isinstance(error, OSError):
        return "is not a valid file name"
    if error.errno == errno.ENOENT and path.is_symlink():
        return "is a broken link"
    return _ERRORS.get(error.errno or 0, f"cannot be read: {error.strerror or error}")


def _refuse_changed(raw: io.FileIO, before: os.stat_result, name: str) -> None:
    after = os.fstat(raw.fileno())
    if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
        raise InvalidSubmission(f"{name} changed while it was being read.")
