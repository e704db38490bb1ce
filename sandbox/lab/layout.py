"""Where the parts of a lab lie: its folder on the host, and what is found inside."""

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from sandbox import Limits
from sandbox.disk import DEEPEST, folder_usage, open_folder
from sandbox.lab import LabRequest, agent
from sandbox.seccomp import pinning_program
from state.files import replacing

HOME = "/lab"
LOGS = f"{HOME}/logs"
AGENT = f"{HOME}/.code/agent.py"
MODULES = f"{HOME}/.code/modules"
"""What Python finds beside its packages."""
FILTER = f"{HOME}/.code/pinned.bpf"
TMP = "/tmp"  # noqa: S108 - a file system in memory, the lab's alone

DEEP = ("-mindepth", str(DEEPEST))
"""What finds all that lies deeper than is measured."""

_MOST_FILES = 1_000_000
PRELUDE = f"{HOME}/.code/prelude.sh"
"""What bash runs before each command."""
_BESIDE_SCRIPTS = ("data", "weights")
"""What a script finds in its working folder when it is scored, and so here."""
_RESERVED_FOLDERS = {"work", "logs", "bin", ".engine", ".code"}
_PLAIN_NAME = re.compile(r"[A-Za-z0-9._-]+")


def check_lab(request: LabRequest) -> None:
    """Raise ValueError for a request that no caller should make."""
    parts = [part for path in request.mounts for part in path.split("/")]
    for name in (request.lab_id, *parts):
        if not _PLAIN_NAME.fullmatch(name) or name in {".", ".."}:
            raise ValueError(f"invalid name: {name!r}")
    if reserved := _RESERVED_FOLDERS & {path.split("/")[0] for path in request.mounts}:
        raise ValueError(f"reserved mount names: {sorted(reserved)}")
    for path in request.in_place:
        if not path.is_absolute() or request.folder.resolve().is_relative_to(path.resolve()):
            raise ValueError(f"{path} cannot be mounted: it must be absolute and must not contain the lab's folder")


def prepare(request: LabRequest) -> Path:
    """Make the folders of a lab, and what it is started with; return its working folder, which may hold files already.

    No process of the lab may run: the working folder is as it was left, links where folders should be included.

    Raises:
        OSError: The disk or its permissions do not allow it, or there is nothing to mount.
    """
    for source in (*request.mounts.values(), *request.in_place):
        source.stat()
    code, work = request.folder / "code", request.folder / "work"
    for folder in (request.folder / "logs", request.folder / "socket", code / "bin"):
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o755)
    code.chmod(0o755)
    package_folder = Path(__file__).parent
    _write(code / "agent.py", Path(agent.__file__).read_bytes())
    _write(code / "pinned.bpf", pinning_program() or b"")
    _write(code / "prelude.sh", (package_folder / "prelude.sh").read_bytes())
    # Coders type `python`, which Debian does not have.
    _write(code / "bin" / "python", b'#!/bin/sh\nexec python3 "$@"\n', 0o755)
    _write(code / "bin" / "gateway", (package_folder / "forwarder.py").read_bytes(), 0o755)
    # Isolated, as work/ and the environment are the coder's own.
    _write(code / "bin" / "lab", f'#!/bin/sh\nexec python3 -I {MODULES}/lab "$@"\n'.encode(), 0o755)
    _write_modules(code / "modules", package_folder / "client")
    _real_folder(work)
    os.close(open_folder(str(work)))
    work.chmod(0o755)
    for name in _found_in_work(request):
        _real_folder(work / name)
    if folder_usage(work, enough_files=_MOST_FILES).too_deep:  # deeper than Python could go
        subprocess.run(["find", work, "-xdev", *DEEP, "-delete"], check=False, capture_output=True)
    return work


def readable(request: LabRequest) -> Mapping[str, Path]:
    """Return what is mounted read-only, by its path inside."""
    folder = request.folder
    own_mounts = {
        ".code": folder / "code",
        "bin": folder / "code" / "bin",
        "logs": folder / "logs",
        ".engine": folder / "socket",
    }
    work_mounts = {f"work/{name}": request.mounts[name] for name in _found_in_work(request)}
    all_mounts = {f"{HOME}/{path}": source for path, source in {**own_mounts, **request.mounts, **work_mounts}.items()}
    return {**all_mounts, **{str(path): path for path in request.in_place}}


def limits_of(request: LabRequest) -> Limits:
    """Return the limits of all processes of a lab, its agent included."""
    lab_limits = request.limits
    return Limits(
        seconds=float("inf"),
        memory_bytes=lab_limits.memory_bytes,
        processes=lab_limits.tasks,
        written_bytes=lab_limits.disk_bytes,
        output_bytes=lab_limits.output_bytes,
    )


def _found_in_work(request: LabRequest) -> list[str]:
    return [name for name in _BESIDE_SCRIPTS if name in request.mounts]


def _real_folder(path: Path) -> None:
    """Make a folder of a path, whatever else stands there."""
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        path.unlink()
    path.mkdir(exist_ok=True)


def _write_modules(folder: Path, client: Path) -> None:
    """Write the module `lab`, which can also be had as `lab_engine` where a coder's own module hides it."""
    for path in (folder, folder / "lab"):
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(0o755)
    for source in client.glob("*.py"):
        _write(folder / "lab" / source.name, source.read_bytes())
    if not (folder / "lab_engine").is_symlink():
        (folder / "lab_engine").symlink_to("lab")


def _write(path: Path, content: bytes, mode: int = 0o644) -> None:
    with replacing(path) as partial:
        partial.write_bytes(content)
        partial.chmod(mode)
