"""The files below a data folder: listing in order, and the names in archives."""

import os
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from scrapers.snapshots.archives import is_litter


def data_files(data_dir: Path) -> Iterator[Path]:
    """Yield every file below a folder, relative to it, in order; linked folders are entered once."""
    resolved_paths: set[Path] = set()
    for folder, folders, names in os.walk(data_dir, followlinks=True):
        real = Path(folder).resolve()
        if real in resolved_paths:
            folders.clear()
            continue
        resolved_paths.add(real)
        folders.sort()
        for name in sorted(names):
            path = Path(folder, name)
            if path.is_file():
                yield path.relative_to(data_dir)


def archive_names(path: Path) -> list[str] | None:
    """Return the names of an archive's members without a Mac's additions, or None if the file is not a zip or tar archive."""
    try:
        if path.suffix.lower() == ".zip":
            with zipfile.ZipFile(path) as archive:
                return [m.filename for m in archive.infolist() if not m.is_dir() and not is_litter(m.filename)]
        if is_tar(path):
            with tarfile.open(path) as tar:
                return [member.name for member in tar if member.isfile() and not is_litter(member.name)]
    except (OSError, zipfile.BadZipFile, tarfile.TarError):
        return None
    return None


def is_tar(path: Path) -> bool:
    """Whether a file is a tar archive by its name, compressed or not."""
    return path.name.lower().endswith((".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz"))
