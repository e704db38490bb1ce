"""What stays of a closed lab's work, which may hold anything."""

import contextlib
import os
import stat
from pathlib import Path

from sandbox.disk import DEEPEST

KEPT_BYTES = 20_000_000
_LARGEST = 1_000_000
_SUFFIXES = (".py", ".md", ".txt", ".csv", ".json", ".sh", ".log", ".toml", ".yaml")


def tidy_work(work: Path) -> None:
    """Keep scripts, notes and tables, `KEPT_BYTES` at the most: the rest can be made again by them.

    No process of the lab may run. Copes with links, unreadable folders and arbitrarily deep nesting. Raises OSError if the disk
    fails.
    """
    kept_bytes, deepest = 0, len(work.parts) + DEEPEST
    tidied_folders: list[Path] = []
    work.chmod(0o700)
    for name, folders, files in os.walk(work):  # follows no links; a folder is opened after what is done here
        folder = Path(name)
        for path in map(folder.joinpath, folders):
            tidied_folders.append(path)
            with contextlib.suppress(FileNotFoundError):  # labs that close at once tidy the same earlier ones
                path.unlink() if path.is_symlink() else path.chmod(0o700)
        for path in map(folder.joinpath, files):
            with contextlib.suppress(FileNotFoundError):
                status = path.lstat()
                plain = stat.S_ISREG(status.st_mode) and status.st_nlink == 1 and path.suffix in _SUFFIXES
                if plain and status.st_size <= _LARGEST and kept_bytes + status.st_size <= KEPT_BYTES:
                    kept_bytes += status.st_size
                else:
                    path.unlink()
        if len(folder.parts) >= deepest:
            folders.clear()
    for path in reversed(tidied_folders):
        with contextlib.suppress(OSError):  # it is not empty
            path.rmdir()
