"""What a test needs to have another user start the bot: a folder, a Python and packages that this user can read."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from tests import needs
from tests.source_tree import ROOT


@contextmanager
def open_folder() -> Iterator[Path]:
    """Make a folder for another user: pytest's own are closed to others, and so is that of a planted world."""
    folder = Path(tempfile.mkdtemp(prefix="bot-test-", dir=os.environ.get("TMPDIR", "/tmp")))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def python_of(user: Sequence[str]) -> str:
    """Return a Python that a user can start, given the command that becomes this user: ours may lie in root's home."""
    for python in (sys.executable, "/usr/bin/python3"):
        command = [*user, python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
        if shutil.which(python) and subprocess.run(command, capture_output=True, check=False).returncode == 0:
            return python
    needs.missing("no Python 3.11 or later here that another user may start")


def copy_code(packages: Sequence[str], distributions: set[str], folder: Path) -> None:
    """Copy our packages, and distributions with all that they need, to where another user can read them."""
    for package in packages:
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    known: set[str] = set()
    names = set(distributions)
    while names:
        name = names.pop()
        known.add(name)
        found = metadata.distribution(name)
        wanted = [Requirement(text) for text in found.requires or ()]
        names |= {one.name for one in wanted if one.marker is None or one.marker.evaluate({"extra": ""})} - known
        for file in found.files or ():
            if ".." not in file.parts and file.suffix != ".pyc":
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(str(file.locate()), folder / file)
