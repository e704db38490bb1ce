"""Files that appear whole or not at all, and what they hold."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield where to write what takes the place of `path` when the block ends; where that fails, `path` stays as it was."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write_whole(path: Path, content: str | bytes, *, durable: bool = False) -> None:
    """Write a file: text in UTF-8, with lone surrogates replaced; `durable`: it outlives a power cut from then on."""
    with replacing(path) as partial:
        partial.write_bytes(content.encode(errors="replace") if isinstance(content, str) else content)
        if durable:
            sync(partial)
    if durable:
        sync(path.parent)


def sync(path: Path) -> None:
    """Flush a file or folder to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sha256_of(path: Path) -> str:
    """Return a file's SHA-256 as lower-case hexadecimal; it is read in pieces. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
