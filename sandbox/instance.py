"""Instances: the ownership of everything a bot has on the machine while it runs."""

import contextlib
import hashlib
import os
import time
from functools import lru_cache
from pathlib import Path

from state.files import write_whole

FOLDER = ".execution"
"""Name of an execution's folder while it runs."""
_YOUNG = 60.0
"""Seconds for which such a folder may be without the file that names its owner."""


def instance_of(folder: Path) -> str:
    """Return the id of the bots that keep their state in this folder, which is the `--out` of replays.

    Made from the machine and the folder's path, not kept in a file: a folder for runs holds nothing else.
    """
    return _digest(f"{_machine()}:{folder.resolve()}")


def label_of(out: Path) -> str:
    """Return the label of processes that run for this folder `out`."""
    return _digest(str(out.resolve()))


def temporary_prefix(out: Path) -> str:
    """Return the beginning of the names of all temporary folders for this folder `out`."""
    return f"bot-{label_of(out)}-"


def owner() -> str:
    """Return what identifies this process, also against a later one with the same process id."""
    return f"{os.getpid()}-{_started(os.getpid())}-{_boot()}"


def is_alive(owner: str) -> bool:
    """Return whether the process that `owner` named is still there; bots with one state folder must see each other."""
    process, _, tail = owner.partition("-")
    started, _, boot = tail.partition("-")
    try:
        return boot == _boot() and _started(int(process)) == started
    except (OSError, ValueError):
        return False


class OwnedFolder:
    """The folder of one execution's work, with a file that names the process it belongs to."""

    def __init__(self, out: Path) -> None:
        """Take the folder on the host that receives the kept files."""
        self.out = out.absolute()
        self.path = self.out / FOLDER
        self._file = self.path / "owner"

    def make(self) -> None:
        """Make it, with its parents, for this process. Raises OSError: the disk or its permissions do not allow it."""
        self.path.mkdir(parents=True)
        write_whole(self._file, owner())  # another bot that cleans up must not find it empty

    @property
    def is_orphaned(self) -> bool:
        """Whether it exists although the process that made it is gone."""
        try:
            return not is_alive(self._file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return self.path.is_dir() and time.time() - self.path.stat().st_mtime > _YOUNG
        except (OSError, ValueError):
            return False


def _started(process: int) -> str:
    """Return when a process started, in the kernel's own units since the machine did.

    Raises OSError: there is no such process, or it has ended and nobody has taken note.
    """
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    if fields[0] in {"Z", "X"}:
        raise ProcessLookupError(process)
    return fields[19]


@lru_cache(maxsize=1)
def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()[:8]


def _machine() -> str:
    for file in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        with contextlib.suppress(OSError):
            return Path(file).read_text(encoding="utf-8").strip()
    return ""


def _digest(text: str) -> str:
    return hashlib.sha256(os.fsencode(text)).hexdigest()[:12]
