"""The doctor: each check is a function that yields what it finds of a part, a problem with its fix."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Status = Literal["ok", "warning", "fails"]


@dataclass(frozen=True)
class Finding:
    """What a check found of one part."""

    part: str
    status: Status
    """`warning`: the bot works without it, or not as well; `fails`: it does not work as configured."""
    result: str
    fix: str | None = None
    """What to do if it is not ok."""


def nearest(path: Path) -> Path:
    """Return the path, or the innermost folder around it that exists."""
    return next(parent for parent in (path, *path.absolute().parents) if parent.exists())
