"""The doctor: checks every part that a bot needs, and says how to mend what fails."""

from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "warning", "fails"]


@dataclass(frozen=True)
class Check:
    """What was found of one part."""

    part: str
    status: Status
    """`warning`: the bot works without it, or not as well; `fails`: it does not work as it is configured."""
    found: str
    mend: str | None = None
    """What to do, where it is not ok."""
