"""Text files of unknown origin: read within bounds, whatever their encoding, and only inside of their folder."""

import codecs
from dataclasses import dataclass
from pathlib import Path

from scrapers.snapshots.files import resolve_inside

LARGEST_FILE = 16_000_000
"""Bytes; a larger one is not read."""

_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


@dataclass(frozen=True)
class Unread:
    """Why a file has no text."""

    reason: str
    """To be read after the plural of what the file is, such as `whose file is missing`."""


@dataclass(frozen=True)
class Decoded:
    """A file's text with newline line ends."""

    text: str
    guessed: bool
    """Whether it is not UTF-8, so that its letters are a guess."""


def read_text(folder: Path, name: str, largest: int = LARGEST_FILE) -> Decoded | Unread:
    """Return the text of a file.

    Args:
        folder: where it lies.
        name: relative to the folder; a link that leads out of it is not followed.
        largest: bytes that it may have.
    """
    if (path := resolve_inside(folder, name)) is None:
        there = (folder / name).is_symlink() or (folder / name).exists()
        return Unread("whose file is no plain file of its folder" if there else "whose file is missing")
    try:
        with path.open("rb") as file:
            data = file.read(largest + 1)
    except OSError as error:
        return Unread(f"whose file cannot be read: {error.strerror or error}")
    if len(data) > largest:
        return Unread(f"whose file has more than {largest / 1e6:.0f} MB")
    return _decoded(data)


def _decoded(data: bytes) -> Decoded:
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    try:
        text, guessed = data.decode(encoding), False
    except UnicodeDecodeError:
        # What Windows writes where nobody names an encoding; it has a letter for nearly every byte.
        text, guessed = data.decode("cp1252", errors="replace"), True
    return Decoded(text.replace("\r\n", "\n").replace("\r", "\n"), guessed)
