"""What is dear to make and only looked at afterwards: made once for all of pytest's workers."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

__all__ = ["made_once"]


def made_once(temporary: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder of the whole test run; the first worker that asks for it fills it, and others wait meanwhile.

    Args:
        temporary: pytest's.
        name: of the folder.
        make: fills the folder, which is empty; where that fails, the next to ask tries it in another.
    """
    base = temporary.getbasetemp()
    # A worker's own folder lies in that of the whole run.
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with (base / f"{name}.made").open("a+") as known:
        fcntl.flock(known, fcntl.LOCK_EX)
        known.seek(0)
        if folder := known.read():
            return Path(folder)
        made = temporary.mktemp(name)
        make(made)
        known.write(str(made))
        return made
