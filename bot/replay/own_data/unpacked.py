"""A zip of data as a folder, for as long as it is needed."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scrapers.snapshots.unpacking import Unpacking
from state.errors import DownloadFailed, NoRoom, UsageError


@contextmanager
def as_folder(source: Path, out: Path) -> Iterator[Path]:
    """Yield the source, or if it is a zip, a folder with its files, which is removed in the end.

    Raises:
        UsageError: the zip is damaged, unsafe or too large.
        OSError: it cannot be read, or its files not be written.
    """
    if not (source.is_file() and source.suffix.lower() == ".zip"):
        yield source
        return
    with tempfile.TemporaryDirectory(prefix=".unpacked-", dir=out) as place:
        try:
            Unpacking(source.name, source, Path(place)).run()
        except (DownloadFailed, NoRoom) as error:
            raise UsageError(str(error)) from error
        yield _inner(Path(place))


def _inner(folder: Path) -> Path:
    """Return the folder in which there is more than another folder: zips often hold one alone."""
    while len(inside := [path for path in folder.iterdir() if path.name[0] not in "._"]) == 1 and inside[0].is_dir():
        folder = inside[0]
    return folder
