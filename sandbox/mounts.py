"""What a script can see of the host's files under bubblewrap: the Python environment, and little else."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

__all__ = ["CODE", "TMPFS", "WORK", "Visible", "file_arguments", "visible_paths"]

CODE = "/solution/solution.py"
WORK = "/solution/work"
TMPFS = ("/tmp", "/dev/shm")  # noqa: S108 - paths inside the sandbox, its own file systems

_SYSTEM_PARTS = ("bin", "sbin", "lib", "lib32", "lib64", "libexec", "share")
_PREFIX_PARTS = ("bin", "lib", "lib64", "libexec", "include", "share", "etc", "pyvenv.cfg")
"""Not a whole prefix, as a project's folder may be one, and its run folders be in it."""
_TOP = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_ETC = ("ld.so.cache", "localtime", "alternatives", "fonts", "mime.types")
_OWN_PACKAGES = ("state", "scrapers", "sandbox", "bot")


class Visible:
    """Folders and files of the host that are mounted read-only where they lie, and folders in them that are hidden."""

    def __init__(self, paths: Iterable[Path], hidden: Iterable[Path]) -> None:
        self.paths = tuple(sorted(set(paths)))
        self.hidden = tuple(hidden)

    def shows(self, path: Path) -> Path | None:
        """Return the mounted folder that a path of the host lies in, if it lies in one."""
        resolved = path.resolve()
        return next((shown for shown in self.paths if resolved.is_relative_to(shown.resolve())), None)


def visible_paths() -> Visible:
    """Return the system's programs and libraries, and the environment of the running Python without our packages."""
    paths = _existing(Path("/usr"), _SYSTEM_PARTS) + _existing(Path("/etc"), _ETC)
    executable = Path(sys.executable).resolve()
    prefixes = {sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix, str(executable.parent.parent)}
    for prefix in (*prefixes, "/usr/local"):
        paths += _existing(Path(prefix), _PREFIX_PARTS)
    home = Path(__file__).resolve().parent.parent
    ours = [home / name for name in _OWN_PACKAGES if (home / name).is_dir()]
    return Visible(paths, [path for path in ours if any(path.is_relative_to(shown.resolve()) for shown in paths)])


def file_arguments(visible: Visible, *, code: Path, work: Path, view: Path | None, tmpfs_bytes: int) -> list[str]:
    """Return bwrap's arguments that make the file system.

    Nothing of it is writable but the working folder and two file systems in memory of limited size. bwrap would make
    missing parents unreadable for others, and the script may be another user by then, so each parent is named.

    Args:
        visible: What is mounted where it lies.
        code: Folder with the script and the files made for it (`passwd`, `group`, `hosts`).
        work: Working folder.
        view: What becomes `data` in it; none if that is in the folder already.
        tmpfs_bytes: Size of each file system in memory.
    """
    inside = [*visible.paths, Path(WORK)]
    arguments: list[str] = []
    for parent in sorted({parent for path in inside for parent in path.parents} - {Path("/")}):
        arguments += ["--perms", "0755", "--dir", str(parent)]
    for name in _TOP:
        path = Path("/") / name
        if path.is_symlink():
            arguments += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            arguments += ["--ro-bind", str(path), str(path)]
    for shown in visible.paths:
        arguments += ["--ro-bind", str(shown), str(shown)]
    for hidden in visible.hidden:
        arguments += ["--perms", "0755", "--size", "4096", "--tmpfs", str(hidden), "--remount-ro", str(hidden)]
    for name in ("passwd", "group", "hosts"):
        arguments += ["--ro-bind", str(code / name), f"/etc/{name}"]
    # As root without a user namespace, /proc/sys would be the host's own to write.
    arguments += ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev"]
    for mount in TMPFS:
        arguments += ["--perms", "1777", "--size", str(tmpfs_bytes), "--tmpfs", mount]
    arguments += ["--ro-bind", str(code / "solution.py"), CODE, "--bind", str(work), WORK]
    if view is not None:
        arguments += ["--ro-bind", str(view.resolve()), f"{WORK}/data"]
    return [*arguments, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", WORK]


def _existing(folder: Path, names: Iterable[str]) -> list[Path]:
    return [folder / name for name in names if os.access(folder / name, os.R_OK)]
