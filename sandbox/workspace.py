"""The folders of one execution on the host: fresh before, gone afterwards."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sandbox import ExecutionRequest
from sandbox.instance import FOLDER, OwnedFolder, temporary_prefix

LOG_NAME = "log.txt"
_PLAIN_NAME = re.compile(r"[A-Za-z0-9._-]+")
_MOST_PARTS = 2
INPUT, WORKING = "/kaggle/input", "/kaggle/working"
"""Where notebooks find their data on Kaggle, and where they start."""


@dataclass(frozen=True)
class Workspace:
    """The folders of one execution on the host."""

    work: Path
    """The script's working folder: empty but for `data`."""
    code: Path
    """Holds the script and small files made for it; outside of the working folder."""
    tmp: Path
    """Temporary files of a back end without a file system of its own; its path is short, as socket paths must be."""

    @property
    def script(self) -> Path:
        """Path of the script."""
        return self.code / "solution.py"


def check_request(request: ExecutionRequest) -> None:
    """Raise ValueError for an invalid request: unsafe or reserved names, or no time limit."""
    parts = [part for name in request.mounts for part in name.split("/", _MOST_PARTS - 1)]
    input_parts = [part for name in request.inputs for part in name.split("/")]
    names = (request.execution_id, *request.keep, *request.keep_folders, *parts, *input_parts)
    for name in names:
        if not _PLAIN_NAME.fullmatch(name) or name in {".", ".."}:
            raise ValueError(f"invalid name: {name!r}")
    if reserved := {LOG_NAME, "data", FOLDER, *parts} & set(request.keep):
        raise ValueError(f"reserved file names: {sorted(reserved)}")
    if reserved := {"data", FOLDER} & set(parts):
        raise ValueError(f"reserved mount names: {sorted(reserved)}")
    if not request.limits.seconds > 0:
        raise ValueError("the time limit of an execution must be greater than 0 seconds")


def start_of(request: ExecutionRequest, usual: str) -> str:
    """Return the path inside of the folder in which a script starts: Kaggle's where it finds Kaggle's inputs."""
    return WORKING if request.inputs else usual


def inputs_of(request: ExecutionRequest) -> dict[str, Path]:
    """Return the folders that it finds below Kaggle's input folder, by their paths inside."""
    return {f"{INPUT}/{name}": folder for name, folder in request.inputs.items()}


@contextmanager
def fresh_workspace(request: ExecutionRequest) -> Iterator[Workspace]:
    """Make the folders inside `request.out`, write the script, and remove all of it at the end.

    They are in `out` because that is on a real disk, which the system's temporary folder often is not. Files that an
    earlier or a killed attempt left under the kept names are removed first, so that they are not taken for this one's.

    Raises:
        OSError: The disk or its permissions do not allow it.
    """
    folder = OwnedFolder(request.out)
    remove_tree(folder.path)
    request.out.mkdir(parents=True, exist_ok=True)
    for name in (*request.keep, LOG_NAME):
        (request.out / name).unlink(missing_ok=True)
    for name in request.keep_folders:
        remove_tree(request.out / name)
    folder.make()
    tmp = Path(tempfile.mkdtemp(prefix=temporary_prefix(request.out)))
    try:
        workspace = Workspace(folder.path / "work", folder.path / "code", tmp)
        workspace.work.mkdir()
        workspace.code.mkdir()
        workspace.script.write_text(request.script, encoding="utf-8", errors="replace")
        workspace.script.chmod(0o644)
        yield workspace
    finally:
        remove_tree(tmp)
        remove_tree(folder.path)  # last: a later run finds what a crash left through it


def remove_tree(folder: Path) -> None:
    """Remove a folder that a script may have locked (mode 0) or nested deeper than a path or Python's stack allows."""
    if not folder.is_dir():
        return
    try:
        shutil.rmtree(folder)
    except (OSError, RecursionError):
        subprocess.run(["chmod", "-R", "u+rwX", "--", str(folder)], check=False, capture_output=True)
        subprocess.run(["rm", "-rf", "--", str(folder)], check=False, capture_output=True)
