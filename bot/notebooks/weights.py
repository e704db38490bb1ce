"""The files that a notebook predicts with, as one private data set holds them: flat, under plain names."""

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scrapers.snapshots.linking import link_or_copy
from state.files import sha256_of

WEIGHTS = "weights"
"""The folder in which a script leaves what prediction needs."""

WHEELS = ".wheels/"
"""What the path of a wheel begins with: the notebook unpacks it where its script imports from."""


@dataclass(frozen=True)
class WeightsFile:
    """One file."""

    flat: str
    """Its name in the data set; Kaggle would unpack `.zip` and `.tar`, and has no folders there."""
    path: str
    """Below the folder in which a script left it."""
    sha256: str
    bytes: int


def weights_slug(files: Sequence[WeightsFile]) -> str:
    """Return the name of the data set that holds these files: the same content has the same name."""
    content = "\n".join(f"{f.flat} {f.sha256}" for f in files)
    return f"bot-weights-{hashlib.sha256(content.encode()).hexdigest()[:16]}"


def lay_flat(folders: Mapping[str, Path], target: Path) -> tuple[WeightsFile, ...]:
    """Put the files of folders into a new one under flat names, without copying them where the disk allows that.

    `folders` are named by what the paths of their files begin with: nothing, or a name and a slash; they may be
    missing. The target is replaced.

    Returns:
        The files, in the order of their paths.

    Raises:
        OSError: the disk failed.
    """
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    files_found = sorted(
        (f"{name}{path.relative_to(folder).as_posix()}", path)
        for name, folder in folders.items()
        for path in folder.rglob("*")
        if path.is_file()
    )
    files = []
    for number, (name, path) in enumerate(files_found):
        weights_file = WeightsFile(f"w{number:03d}.bin", name, sha256_of(path), path.stat().st_size)
        link_or_copy(path, target / weights_file.flat)
        files.append(weights_file)
    return tuple(files)


def add_wheels(wheels: Path, target: Path, before: int) -> tuple[WeightsFile, ...]:
    """Put the wheels of a folder beside flat files, which number `before`; return them as such files.

    Raises OSError: the folder cannot be read, or the disk failed.
    """
    wheel_files = sorted(path for path in wheels.iterdir() if path.suffix == ".whl")
    added = tuple(
        WeightsFile(f"w{before + number:03d}.bin", f"{WHEELS}{path.name}", sha256_of(path), path.stat().st_size)
        for number, path in enumerate(wheel_files)
    )
    for path, added_file in zip(wheel_files, added, strict=True):
        shutil.copyfile(path, target / added_file.flat)
    return added
