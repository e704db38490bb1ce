"""The files of `systemd/`, with the program and the credentials of an installation put into them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.service.layout import CREDENTIALS, PROGRAM, PRUNE, SERVICE, TIMER
from state.errors import UsageError

__all__ = ["CREDENTIAL_NAME", "DROP_INS", "InstallOptions", "drop_ins", "shipped", "units"]

_CHOSEN = {"docker": (SERVICE, PRUNE), "gpu": (SERVICE,), "backoff": (SERVICE,)}
DROP_INS = (*(f"{unit}.d/{name}.conf" for name, of in _CHOSEN.items() for unit in of), f"{SERVICE}.d/credentials.conf")
"""All that an installation may have, relative to the folder of units."""
CREDENTIAL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PLAIN_PATH = re.compile(r"/[A-Za-z0-9/._+@-]+")


@dataclass(frozen=True)
class InstallOptions:
    """How the service is to be installed."""

    program: Path
    docker: bool = False
    gpu: bool = False
    backoff: bool = False
    """Whether the time between restarts grows, which older versions of systemd do not know."""


def shipped(name: str) -> str:
    """Return a file of `systemd/`: beside this one in an installation, at its place in a checkout."""
    installed = Path(__file__).parent / "units"
    folder = installed if installed.is_dir() else Path(__file__).parents[2] / "systemd"
    return (folder / name).read_text(encoding="utf-8")


def units(program: Path) -> dict[str, str]:
    """Return the units by name, which run this program.

    Raises:
        UsageError: its path holds what means something else in a unit.
    """
    if not _PLAIN_PATH.fullmatch(str(program)):
        raise UsageError(f"a unit cannot name the program {program}: install the bot below a folder with a plain name")
    return {name: shipped(name).replace(str(PROGRAM), str(program)) for name in (SERVICE, PRUNE, TIMER)}


def drop_ins(options: InstallOptions, credentials: Sequence[str], folder: Path) -> dict[str, str]:
    """Return the drop-ins that are chosen, by their path relative to the folder of units.

    Args:
        options: which of them.
        credentials: names of those in the folder; of those that the unit does not load by itself a drop-in is made.
        folder: of credentials, as the service manager sees it.
    """
    chosen = {"docker": options.docker, "gpu": options.gpu, "backoff": options.backoff}
    names = [f"{unit}.d/{name}.conf" for name, of in _CHOSEN.items() if chosen[name] for unit in of]
    found = {name: shipped(name) for name in names}
    if more := sorted(set(credentials) - set(CREDENTIALS)):
        lines = (f"LoadCredential={name}:{folder / name}" for name in more)
        head = f"# What lies in {folder} beyond the usual names. Written anew by `bot service install`."
        found[f"{SERVICE}.d/credentials.conf"] = "\n".join((head, "[Service]", *lines, ""))
    return found
