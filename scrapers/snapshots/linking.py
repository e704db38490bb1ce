"""Files in a second place, as hard links if the file system supports them, else as copies."""

import shutil
from collections.abc import Callable
from pathlib import Path

from scrapers.snapshots.files import resolve_inside, walk


def link_or_copy(source: Path, target: Path) -> None:
    """Give `target` the content of `source`, links followed: as a second name of the file where that is possible, else a copy.

    It is never a symbolic link, which a mount would not carry. Raises OSError.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        target.hardlink_to(source.resolve())
    except OSError:
        # Another file system, one without hard links, or a file with too many; any other fault shows in the copying.
        shutil.copyfile(source, target)


def link_files(source: Path, target: Path, is_wanted: Callable[[str], bool], tick: Callable[[int], None]) -> None:
    """Make every wanted file of `source` appear below the existing folder `target`; nothing in `source` is changed.

    A link to a file within `source` becomes that file; any other link is copied as it is. `wanted` gets paths relative to
    the source, `tick` often the number of files done. Raises OSError.
    """
    for count, path in enumerate(walk(source), start=1):
        name = path.relative_to(source).as_posix()
        if is_wanted(name):
            if file := resolve_inside(source, name):
                link_or_copy(file, target / name)
            else:
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                (target / name).symlink_to(path.readlink())
        tick(count)
