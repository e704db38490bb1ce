"""Git LFS pointers: small texts that stand where a file has not been fetched."""

from pathlib import Path

_FIRST_LINE = b"version https://git-lfs.github.com/spec/v1"
_LARGEST = 1024
"""Bytes; the format's own limit."""

REMEDY = "is a Git LFS pointer, not the file itself: run `git lfs pull` where it comes from"


def is_pointer(path: Path) -> bool:
    """Whether the file is a pointer of Git LFS.

    Raises:
        OSError: it cannot be read.
    """
    if path.stat().st_size > _LARGEST:
        return False
    with path.open("rb") as file:
        return file.read(len(_FIRST_LINE)) == _FIRST_LINE
