"""The program that the service runs: the running installation's, if the service may read it."""

import stat
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from bot.service.layout import PROGRAM
from state.errors import UsageError

_CLOSED = {
    Path("/home"): "which is closed to it (ProtectHome)",
    Path("/root"): "which is closed to it (ProtectHome)",
    Path("/run/user"): "which is closed to it (ProtectHome)",
    Path("/tmp"): "of which it has one of its own (PrivateTmp)",  # noqa: S108 - a place that is refused
    Path("/var/tmp"): "of which it has one of its own (PrivateTmp)",  # noqa: S108
}
_ELSEWHERE = (
    f"Install the bot where every user can read it, such as `python3 -m venv {PROGRAM.parents[1]} && "
    f"{PROGRAM.parent}/pip install kaggle-bot` with a Python of the system, and run `{PROGRAM} service install`."
)


def this_program() -> Path:
    """Return the command `bot` of the running installation.

    Raises:
        UsageError: there is none, for example because the sources are run without an installation.
    """
    path = Path(sysconfig.get_path("scripts")) / "bot"
    if not path.is_file():
        raise UsageError(f"there is no {path}: {_ELSEWHERE}")
    return path


def parts_of_this() -> tuple[Path, ...]:
    """Return all that the program needs to start: itself, Python with its libraries, and the packages."""
    source = Path(__file__).parents[2]
    libraries = {Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return (this_program(), Path(sys.executable), *sorted(libraries), source)


def check_readable(parts: Iterable[Path]) -> None:
    """Raise UsageError if the service, which is an ordinary user and sees no home folder, could not read one of these."""
    for part in parts:
        for path in dict.fromkeys((part.resolve(), part.absolute())):
            for closed, why in _CLOSED.items():
                if path.is_relative_to(closed):
                    raise UsageError(f"the service could not read {path}: it lies in {closed}, {why}. {_ELSEWHERE}")
            if shut := next((one for one in (path, *path.parents) if not _open_to_all(one)), None):
                why = f"other users may not read {shut}" if shut == path else f"other users may not enter {shut}"
                raise UsageError(f"the service could not read {path}: {why}. {_ELSEWHERE}")


def _open_to_all(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    needed = stat.S_IXOTH if stat.S_ISDIR(mode) else stat.S_IROTH
    return bool(mode & needed)
