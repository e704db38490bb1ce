"""Writes the bundled demo snapshot: a small real competition with a community, for a first run without any download."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from scrapers.snapshots.hashes import sha256_of
from scrapers.snapshots.manifest import MANIFEST
from state.errors import InfrastructureFailure, UsageError

DEMO_SLUG = "demo-dim-digits"
_BUNDLED = Path(__file__).parent / "demo_data"
_SECONDS = 300.0
_HASHED = ("data/*", "private/*", "description.md", "leaderboard.csv")


def write_demo(path: Path) -> Path:
    """Write the demo snapshot into the folder `path` and return it; it is there whole or not at all.

    A child process makes the tables, so that the caller's memory stays free of numpy and scikit-learn; it takes a few
    seconds.

    Raises:
        UsageError: `path` is a file, a folder that is not empty, or cannot be written to.
        InfrastructureFailure: the child process failed.
    """
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise UsageError(f"{path} is not a folder: name a new or an empty one for the demo snapshot")
    try:
        if path.is_dir() and any(path.iterdir()):
            raise UsageError(f"the folder {path} is not empty: name a new or an empty one for the demo snapshot")
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".demo-", dir=path.parent) as scratch:
            made = Path(scratch) / DEMO_SLUG
            _run_child(made)
            made.replace(path)
    except OSError as error:
        raise UsageError(f"the demo snapshot cannot be written to {path}: {error.strerror or error}") from error
    return path


def _run_child(folder: Path) -> None:
    here = str(Path(__file__).parents[2])  # the child finds this package however the parent found it
    paths = [here, *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "scrapers.snapshots.demo", str(folder)]
    try:
        child = subprocess.run(command, env=environment, capture_output=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise InfrastructureFailure(f"making the demo snapshot took more than {_SECONDS:.0f} s") from error
    if child.returncode != 0:
        last = child.stderr.decode(errors="replace").strip().rsplit("\n", 1)[-1]
        raise InfrastructureFailure(f"making the demo snapshot failed with status {child.returncode}: {last}")


def _make(folder: Path) -> None:
    """Copy what is bundled, make the tables, and add their hashes to the manifest; the child's part."""
    from scrapers.snapshots.demo_table import write_tables

    compiled = shutil.ignore_patterns("__pycache__")  # an installer compiles the kernels too
    shutil.copytree(_BUNDLED, folder, copy_function=shutil.copyfile, ignore=compiled)
    write_tables(folder)
    manifest = folder / MANIFEST
    content = json.loads(manifest.read_text(encoding="utf-8"))
    files = sorted(path for pattern in _HASHED for path in folder.glob(pattern))
    content["sha256"] = {path.relative_to(folder).as_posix(): sha256_of(path) for path in files}
    manifest.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    _make(Path(sys.argv[1]))
