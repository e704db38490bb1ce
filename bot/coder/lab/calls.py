"""The calls of the command `lab`, which any program in a lab may make, and their answers."""

from functools import partial
from pathlib import Path
from typing import Annotated, Protocol

from pydantic import AfterValidator, ConfigDict, Field, StrictBool, StrictInt
from pydantic.dataclasses import dataclass

from bot.models.quoting import clean, line

__all__ = [
    "Arguments",
    "Board",
    "Done",
    "Handler",
    "Ideas",
    "LabAnswer",
    "LabCall",
    "Log",
    "Note",
    "Score",
    "Status",
    "Wait",
]

_NAME, _NOTE, _REPORT = 100, 500, 2000
"""Characters."""


def _paragraphs(text: str) -> str:
    """Return a part of a report, cleaned and cut."""
    text = clean(text).strip()
    more = len(text) - _REPORT
    return text if more <= 0 else f"{text[:_REPORT]}… [{more} more characters left out]"


def _said(text: str) -> str:
    if not text:
        raise ValueError("it is empty")
    return text


_Name = Annotated[str, AfterValidator(partial(line, limit=_NAME)), AfterValidator(_said)]
_Remark = Annotated[str, AfterValidator(partial(line, limit=_NOTE))]
_Paragraphs = Annotated[str, AfterValidator(_paragraphs)]

# All texts are foreign: they are cleaned and cut on construction.
_FOREIGN = ConfigDict(extra="forbid")


@dataclass(frozen=True, config=_FOREIGN)
class Status:
    """What is left of time, money, looks and turns."""


@dataclass(frozen=True, config=_FOREIGN)
class Board:
    """The cards of other nodes."""

    all: StrictBool = False
    """Whether to show all nodes, not only ancestors, siblings and the best."""


@dataclass(frozen=True, config=_FOREIGN)
class Score:
    """Score a script on the hold-out view."""

    note: _Remark = ""
    background: StrictBool = False
    """Whether the client does not wait for the score."""
    infer_bytes: Annotated[StrictInt, Field(ge=0)] = 0
    """Bytes of the script that predicts in a notebook, the last ones of what is sent; 0: there is none."""


@dataclass(frozen=True, config=_FOREIGN)
class Wait:
    """Wait for scripts that are scored in the background."""


@dataclass(frozen=True, config=_FOREIGN)
class Log:
    """Log an experiment by its out-of-fold predictions."""

    name: _Name
    note: _Remark = ""
    against: Annotated[str, AfterValidator(partial(line, limit=_NAME))] = ""
    """The experiment that it is compared with; empty: the best one."""


@dataclass(frozen=True, config=_FOREIGN)
class Ideas:
    """The pool's ideas for this draft."""


@dataclass(frozen=True, config=_FOREIGN)
class Note:
    """Leave a line that other labs' cards show."""

    text: Annotated[_Remark, AfterValidator(_said)]


@dataclass(frozen=True, config=_FOREIGN)
class Done:
    """Close the lab, with a report whose parts may be empty."""

    believed: _Paragraphs = ""
    seen: _Paragraphs = ""
    why: _Paragraphs = ""
    condition: _Paragraphs = ""
    """Under which it holds."""
    other: _Paragraphs = ""
    """Text under no such heading."""


Arguments = Status | Board | Score | Wait | Log | Ideas | Note | Done


@dataclass(frozen=True)
class LabCall:
    """One call, bounded and cleaned."""

    arguments: Arguments
    script: str | None = None
    """With `Score`: the script's text, as it was sent."""
    infer: str | None = None
    """With `Score`: the text of the script that predicts in a notebook; None: none was sent."""
    file: Path | None = None
    """With `Log`: the out-of-fold file, in a temporary file that is removed when the call is answered."""


@dataclass(frozen=True)
class LabAnswer:
    """The answer to a call."""

    status: int
    """Exit status of the command: 0 for success, 1 for a refusal, 2 for misuse."""
    text: str


class Handler(Protocol):
    """Answers one lab's calls."""

    @property
    def news(self) -> list[str]:
        """Lines for the coder's next observation, which others may be added to."""

    async def __call__(self, call: LabCall) -> LabAnswer:
        """Answer a call; several may run at a time."""
