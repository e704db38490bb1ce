"""The files that a notebook predicts with, as one private data set holds them: flat, under plain names."""

import hashlib
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

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


def weights_in(folder: Path) -> tuple[WeightsFile, ...]:
    """Return the files of a folder, in the order of their paths; none where there is no such folder."""
    found = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return tuple(
        WeightsFile(f"w{number:03d}.bin", name, _sha256(folder / name), (folder / name).stat().st_size)
        for number, name in enumerate(found)
    )


def weights_slug(files: Sequence[WeightsFile]) -> str:
    """Return the name of the data set that holds these files: the same content has the same name."""
    listed = "\n".join(f"{one.flat} {one.sha256}" for one in files)
    return f"bot-weights-{hashlib.sha256(listed.encode()).hexdigest()[:16]}"


def lay_flat(folder: Path, files: Sequence[WeightsFile], target: Path) -> None:
    """Put files into a new folder under their flat names, without copying them where the disk allows that.

    Raises:
        OSError: the disk failed.
    """
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for one in files:
        try:
            os.link(folder / one.path, target / one.flat)
        except OSError:
            shutil.copyfile(folder / one.path, target / one.flat)


def add_wheels(wheels: Path, target: Path, before: int) -> tuple[WeightsFile, ...]:
    """Put the wheels of a folder beside flat files, which number `before`; return them as such files.

    Raises:
        OSError: the folder cannot be read, or the disk failed.
    """
    found = sorted(path for path in wheels.iterdir() if path.suffix == ".whl")
    added = tuple(
        WeightsFile(f"w{before + number:03d}.bin", f"{WHEELS}{path.name}", _sha256(path), path.stat().st_size)
        for number, path in enumerate(found)
    )
    for path, one in zip(found, added, strict=True):
        shutil.copyfile(path, target / one.flat)
    return added


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
