"""A folder's files in a second place, as hard links where the file system has them, else as copies."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from scrapers.snapshots.inside import walk


def link_files(source: Path, target: Path, wanted: Callable[[str], bool], tick: Callable[[int], None]) -> None:
    """Make every wanted file of `source` appear below `target`, which exists; nothing of `source` is changed.

    A link to a file within `source` becomes that file, any other link is made anew as it is.

    Args:
        source: the folder.
        target: an empty folder, or one without these files.
        wanted: by path relative to the source, with slashes.
        tick: called with the number of files that are done, often.

    Raises:
        OSError: a file cannot be read, or not be written.
    """
    whole = source.resolve()
    for done, path in enumerate(walk(source), start=1):
        name = path.relative_to(source).as_posix()
        if wanted(name):
            place = target / name
            place.parent.mkdir(parents=True, exist_ok=True)
            file = _real(path, whole) if path.is_symlink() else path
            if file is None:
                place.symlink_to(path.readlink())
            else:
                _link(file, place)
        tick(done)


def _real(link: Path, whole: Path) -> Path | None:
    """Return the plain file within the folder that a link leads to, None if it leads to something else."""
    try:
        file = link.resolve(strict=True)
    except (OSError, RuntimeError):  # a link to nothing, or links in a circle
        return None
    return file if file.is_file() and file.is_relative_to(whole) else None


def _link(file: Path, place: Path) -> None:
    try:
        os.link(file, place)
    except OSError:
        # Another file system, or one without hard links, or a file that has too many: whatever else is wrong, copying says.
        shutil.copyfile(file, place)
        shutil.copystat(file, place)
