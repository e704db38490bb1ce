"""A snapshot is made under a dot name and renamed when it is whole, by one import at a time."""

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from state.errors import UsageError

_LOCK = ".import.lock"


@contextmanager
def importing_into(out: Path) -> Iterator[None]:
    """Have a folder to oneself among all imports; it is made if it is not there.

    Raises:
        UsageError: another import goes on, or the folder cannot be written to.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        file = (out / _LOCK).open("w")
    except OSError as error:
        raise UsageError(f"{out} cannot be written to: {error.strerror or error}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"another import is writing to {out}: wait for it, or name another folder") from None
        yield


@contextmanager
def staged(place: Path) -> Iterator[Path]:
    """Give an empty folder beside `place`; `settle` gives it its name, and what is left of it in the end is removed.

    Raises:
        OSError: it cannot be made.
    """
    folder = place.with_name(f".import-{place.name}")
    for left in (folder, _before(place)):  # by an import that was killed
        if left.exists():
            shutil.rmtree(left)
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def settle(folder: Path, place: Path) -> None:
    """Give a staged folder its name; what bears it goes first, and is gone only once the new one is in its place.

    Raises:
        OSError: it cannot be renamed.
    """
    if not place.exists():
        folder.rename(place)
        return
    before = _before(place)
    place.rename(before)
    folder.rename(place)
    shutil.rmtree(before, ignore_errors=True)


def _before(place: Path) -> Path:
    return place.with_name(f".import-before-{place.name}")
