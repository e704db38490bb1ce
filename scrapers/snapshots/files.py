"""Files of a snapshot: resolving relative names, keeping links inside the folder, and hashes."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from scrapers.snapshots.problems import Problems

DATA = "data"
GRADER = "private/grade.py"


def escapes(name: str) -> bool:
    """Whether a relative name is absolute, empty, or steps upwards, so that it could leave its folder."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    return not parts or parts[0] == "/" or ".." in parts or "\0" in name


def resolve_inside(root: Path, name: str) -> Path | None:
    """Return the regular file that `name` means below `root`, links followed; None if there is none inside `root`."""
    if escapes(name):
        return None
    path = root / name
    return path if path.is_file() and _leads_into(path, root) else None


def walk(folder: Path) -> Iterator[Path]:
    """Yield every file and link below `folder`, also to folders, in order; links are not followed. Raises OSError."""
    for place, folders, files in os.walk(folder, onerror=_raise):
        folders.sort()
        current_folder = Path(place)
        yield from (current_folder / name for name in folders if (current_folder / name).is_symlink())
        yield from (current_folder / name for name in sorted(files))


def check_links(root: Path, problems: Problems) -> None:
    """Report links that lead out of the snapshot (or from `data/` into `private/`), and entries that are not plain files."""
    with problems.reading("."):
        for path in walk(root):
            relative = path.relative_to(root).as_posix()
            bounds = root / DATA if relative.startswith(f"{DATA}/") else root
            mode = path.lstat().st_mode
            if relative == DATA:
                problems.add(relative, "is not a folder")
            elif stat.S_ISLNK(mode) and not _leads_into(path, bounds):
                problems.add(relative, f"is a link that points outside {bounds.name}/ or is broken", kind="links")
            elif not stat.S_ISLNK(mode) and not stat.S_ISREG(mode):
                problems.add(relative, "is not a regular file", kind="special files")


def _leads_into(path: Path, root: Path) -> bool:
    try:
        return path.resolve(strict=True).is_relative_to(root.resolve())
    except (OSError, RuntimeError):  # a link to nothing, or links in a circle
        return False


def _raise(error: OSError) -> None:
    raise error
