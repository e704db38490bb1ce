"""Zip archives of a snapshot: readable to their end, and harmless to unpack."""

import lzma
import struct
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from scrapers.snapshots.files import escapes
from scrapers.snapshots.problems import Problems

_LARGEST_RATIO = 1000  # deflate cannot do more than 1032; text of real data sets stays below 50
_LARGEST_PLAIN = 10 * 1000**3  # bytes that may be unpacked whatever the ratio

BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    RuntimeError,  # encrypted; NotImplementedError (an unknown method) is one too
    OSError,
    ValueError,
)
"""What reading a damaged, encrypted or unusual archive raises."""


def is_archive(path: Path) -> bool:
    """Whether a file's name is that of a zip archive."""
    return path.name.lower().endswith(".zip")


def check_archive(path: Path, name: str, problems: Problems) -> bool:
    """Read every member to its end, in pieces, and compare its checksum; return whether the archive is good."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _check_members(archive, path.stat().st_size, name, problems)
    except BROKEN as error:
        problems.add(name, f"is not a readable zip archive: {error}")
        return False


def is_litter(member_name: str) -> bool:
    """Whether a Mac added a member to a zip by itself: its folder, resource forks, and window settings."""
    path = PurePosixPath(member_name)
    return "__MACOSX" in path.parts or path.name == ".DS_Store" or path.name.startswith("._")


def excess(members: Sequence[zipfile.ZipInfo], packed_bytes: int) -> str | None:
    """Return a sentence if members would unpack to more than real data of the archive's size in bytes; None if not."""
    plain = sum(member.file_size for member in members)
    if plain > _LARGEST_PLAIN and plain > packed_bytes * _LARGEST_RATIO:
        return f"would grow from {packed_bytes:,} to {plain:,} bytes when unpacked, which is too much"
    return None


def _check_members(archive: zipfile.ZipFile, packed_bytes: int, name: str, problems: Problems) -> bool:
    if too_large := excess(archive.infolist(), packed_bytes):
        problems.add(name, too_large)
        return False
    outside = [member.filename for member in archive.infolist() if escapes(member.filename)]
    for member_name in outside:
        problems.add(name, f"its member {member_name[:200]!r} points outside the folder", kind="members")
    try:
        broken = archive.testzip()
    except BROKEN as error:
        problems.add(name, f"cannot be read completely: {error}")
        return False
    if broken is not None:
        problems.add(name, f"its member {broken[:200]!r} is damaged")
    return broken is None and not outside
