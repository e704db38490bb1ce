"""What a script can see of the host's files under bubblewrap: the Python environment, and little else."""

import os
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from sandbox.environments import ScriptEnvironment
from sandbox.gpu import LIBRARIES

CODE = "/solution/code"
WORK = "/solution/work"
TMPFS = ("/tmp", "/dev/shm")  # noqa: S108 - paths inside the sandbox, its own file systems

_PARTS = ("bin", "lib", "lib32", "lib64", "share")
"""Of a prefix; not a whole one, as a project's folder may be one, and its run folders be in it."""
_TOP = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_ETC_FOLDERS = ("alternatives", "fonts")
_ETC_FILES = ("/etc/ld.so.cache", "/etc/localtime")
_OWN_PACKAGES = ("state", "scrapers", "sandbox", "bot")


class VisiblePaths:
    """What of the host a script sees: folders mounted read-only where they lie, and copies of small files."""

    def __init__(self, paths: Iterable[Path], hidden: Iterable[Path] = (), files: Iterable[Path] = ()) -> None:
        """Take the folders or links to folders, the hidden parts of them, and the files."""
        self.paths = tuple(sorted(set(paths)))
        self.hidden = tuple(hidden)
        self.files = tuple(files)
        self._resolved = tuple(path.resolve() for path in self.paths)

    def shows(self, path: Path) -> Path | None:
        """Return the mounted folder that a path of the host lies in, if it lies in one."""
        resolved = path.resolve()
        pairs = zip(self.paths, self._resolved, strict=True)
        return next((visible for visible, real in pairs if resolved.is_relative_to(real)), None)


def visible_paths(environment: ScriptEnvironment | None = None) -> VisiblePaths:
    """Return the system's programs and libraries, and the environment of scripts; None: that of the running Python."""
    if environment is None:
        prefix, executable = Path(sys.prefix), Path(sys.executable).resolve()
        prefixes = {sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix, str(executable.parent.parent)}
    else:
        prefix, prefixes = environment.path, {str(environment.path), str(environment.home)}
    paths = _existing(Path("/etc"), _ETC_FOLDERS) + _existing(Path("/usr"), ("sbin",))
    for place in {*prefixes, "/usr", "/usr/local", str(LIBRARIES)}:
        paths += _existing(Path(place), _PARTS)
    home = Path(__file__).resolve().parent.parent
    own_packages = [home / name for name in _OWN_PACKAGES if (home / name).is_dir()]
    hidden = [path for path in own_packages if any(path.is_relative_to(visible.resolve()) for visible in paths)]
    files = [prefix / "pyvenv.cfg", *map(Path, _ETC_FILES)]
    return VisiblePaths(paths, hidden, [file for file in files if file.is_file()])


def file_arguments(
    visible: VisiblePaths,
    *,
    files: Mapping[str, int],
    writable: Mapping[str, Path],
    readable: Mapping[str, Path],
    start: str,
    tmpfs_bytes: int,
    devices: Iterable[Path] = (),
) -> list[str]:
    """Return bwrap's arguments that make the file system.

    Only what is named so and two file systems in memory of limited size are writable. bwrap would make missing parents
    unreadable for others, and the script may run as another user, so each parent is named.

    `files` are descriptors of small files' content, `writable` and `readable` what the host has, all by their paths
    inside; what is readable in a writable folder exists there. `tmpfs_bytes` is the size of each file system in memory.
    """
    # As root without a user namespace, /proc/sys would be the host's own to write.
    arguments = ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev"]
    for device in devices:
        arguments += ["--dev-bind", str(device), str(device)]
    # Before what is visible, which may itself lie in /tmp.
    for mount in TMPFS:
        arguments += ["--perms", "1777", "--size", str(tmpfs_bytes), "--tmpfs", mount]
    outside = [path for path in readable if not any(path.startswith(f"{folder}/") for folder in writable)]
    arguments += _fixed_arguments(visible, (*files, *writable, *outside))
    for path, descriptor in files.items():
        arguments += ["--perms", "0644", "--file", str(descriptor), path]
    for option, mounts in (("--bind", writable), ("--ro-bind", readable)):
        for path, source in mounts.items():
            arguments += [option, str(source.resolve()), path]
    return [*arguments, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", start]


@lru_cache(maxsize=8)
def _fixed_arguments(visible: VisiblePaths, points: tuple[str, ...]) -> list[str]:
    """Return the arguments that are the same for all executions: parents, and what is mounted where it lies."""
    all_paths = [*visible.paths, *map(Path, points)]
    arguments = []
    for parent in sorted({parent for path in all_paths for parent in path.parents} - {Path("/")}):
        arguments += ["--perms", "0755", "--dir", str(parent)]
    for name in _TOP:
        if (top := Path("/") / name).exists():
            arguments += _link_or_mount(top)
    for visible_path in visible.paths:
        arguments += _link_or_mount(visible_path)
    for hidden in visible.hidden:
        arguments += ["--perms", "0755", "--size", "4096", "--tmpfs", str(hidden), "--remount-ro", str(hidden)]
    return arguments


def _link_or_mount(path: Path) -> list[str]:
    """Return arguments for a path as the host has it: each mount costs time, a link none."""
    if path.is_symlink():
        return ["--symlink", str(path.readlink()), str(path)]
    return ["--ro-bind", str(path), str(path)]


def _existing(folder: Path, names: Iterable[str]) -> list[Path]:
    return [folder / name for name in names if os.access(folder / name, os.R_OK)]
