"""A snapshot is made under a dot name and renamed when it is whole, by one import at a time."""

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from state.errors import UsageError

_LOCK = ".import.lock"
_STAGING_NAME = ".import-{}"


@contextmanager
def importing_into(out: Path) -> Iterator[None]:
    """Lock a folder for one import, and remove what killed ones left. Raises UsageError if another one runs there."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        file = (out / _LOCK).open("w")
    except OSError as error:
        raise UsageError(f"cannot write to {out}: {error.strerror or error}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"another import is writing to {out}: wait for it, or choose a different folder") from None
        for leftover in out.glob(_STAGING_NAME.format("*")):
            shutil.rmtree(leftover)
        yield


@contextmanager
def staging_folder(place: Path) -> Iterator[Path]:
    """Yield an empty folder beside `place`, to be renamed when it is complete; otherwise it is removed in the end."""
    folder = place.with_name(_STAGING_NAME.format(place.name))
    shutil.rmtree(folder, ignore_errors=True)  # left by an import that was killed
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
