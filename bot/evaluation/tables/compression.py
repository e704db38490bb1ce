"""Opens text files that may be compressed, by their names; what is written is the same bytes each time."""

import gzip
import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, TextIO, cast

from scrapers.snapshots.archives import is_litter
from state.errors import UnsupportedLayout

SUFFIXES = frozenset({".gz", ".zip"})
EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The time of every member that is written into an archive: the first that zip knows, so that no time gives anything away."""
_BROKEN = (OSError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError, NotImplementedError)
"""What a damaged or encrypted archive raises, a missing member's name apart."""


def plain_name(path: Path) -> str:
    """Return a file's name without the suffix of its compression."""
    return path.stem if path.suffix.lower() in SUFFIXES else path.name


def kind_of(path: Path) -> str:
    """Return the suffix of a file's content, however it is compressed: `.csv` of `train.csv.gz` and `train.csv`."""
    return Path(plain_name(path)).suffix.lower()


@contextmanager
def reading(path: Path) -> Iterator[TextIO]:
    """Open a text file; bytes that are not UTF-8 survive, and a byte order mark is passed over.

    Raises UnsupportedLayout: it is an archive of more than one file, or cannot be unpacked.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            yield file
        return
    try:
        with ExitStack() as stack:
            if suffix == ".gz":
                raw: Any = stack.enter_context(gzip.open(path))
            else:
                archive = stack.enter_context(zipfile.ZipFile(path))
                raw = stack.enter_context(archive.open(only_member(archive, path.name)))
            yield stack.enter_context(io.TextIOWrapper(raw, "utf-8-sig", "surrogateescape", ""))
    except _BROKEN as error:
        raise UnsupportedLayout(f"{path.name} cannot be unpacked: {error}.") from error


def only_member(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    """Return the one file of an archive; what a Mac adds does not count.

    Raises UnsupportedLayout: there are others, or none.
    """
    members = [m for m in archive.infolist() if not m.is_dir() and not is_litter(m.filename)]
    if len(members) != 1:
        raise UnsupportedLayout(f"{name} holds {len(members)} files.")
    return members[0]


@contextmanager
def writing(path: Path) -> Iterator[TextIO]:
    """Open a text file for writing, compressed according to its suffix; the folder is created."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix.lower() == ".gz":
        with path.open("wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as compressed, _text(compressed) as text:
            yield text
    elif path.suffix.lower() == ".zip":
        entry = member(plain_name(path))
        with (
            zipfile.ZipFile(path, "w") as archive,
            archive.open(entry, "w", force_zip64=True) as target,
            _text(target) as text,
        ):
            yield text
    else:
        with path.open("w", encoding="utf-8", errors="surrogateescape", newline="") as text:
            yield text


def _text(file: IO[bytes] | gzip.GzipFile) -> TextIO:
    return io.TextIOWrapper(cast(IO[bytes], file), encoding="utf-8", errors="surrogateescape", newline="")


def member(name: str, *, packed: bool = True) -> zipfile.ZipInfo:
    """Describe a member that is to be written, so that it shows nothing but its name and its content."""
    info = zipfile.ZipInfo(name, EARLIEST)
    info.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
    info.external_attr = 0o644 << 16
    return info
