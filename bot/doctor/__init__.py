"""The doctor: each check is a function that yields what it finds of a part, a problem with its fix."""

from dataclasses import dataclass
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
