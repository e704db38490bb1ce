"""The doctor: checks every part that a bot needs, and names a fix for what fails."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Status = Literal["ok", "warning", "fails"]


@dataclass(frozen=True)
class Check:
    """The result of checking one part."""

    part: str
    status: Status
    """`warning`: the bot works without it, or not as well; `fails`: it does not work as configured."""
    found: str
    fix: str | None = None
    """What to do if it is not ok."""


def nearest(path: Path) -> Path:
    """Return the path, or the innermost folder around it that exists."""
    return next(one for one in (path, *path.absolute().parents) if one.exists())
