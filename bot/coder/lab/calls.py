"""The calls of the command `lab`, which any program in a lab may make, and their answers."""

import re
from collections.abc import Mapping
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, Protocol

from pydantic import AfterValidator, ConfigDict, Field, StrictBool
from pydantic.dataclasses import dataclass

from bot.evaluation.answers.experiments import Role
from bot.models.quoting import clean, line

__all__ = [
    "INFER",
    "SCRIPT",
    "Arguments",
    "BoardCommand",
    "DoneCommand",
    "FileRole",
    "Fit",
    "Ideas",
    "LabAnswer",
    "LabCall",
    "LabCallHandler",
    "Log",
    "LogScore",
    "NoteCommand",
    "ScoreCommand",
    "StatusCommand",
    "Wait",
]

FileRole = Role | Literal["train"]
"""What an array file holds: predictions for `lab log`, features of training, validation or test rows for `lab fit`."""
SCRIPT, INFER = "solution.py", "infer.py"
"""The sources of `lab score`: the script, and the one that predicts in a notebook."""

_NAME, _NOTE, _COMMAND, _REPORT = 80, 500, 1000, 2000
"""Characters."""
_MAX_NAMES = 1000
"""Of experiments that a stack uses, or of columns."""
_ODD = re.compile(r"[^A-Za-z0-9._-]+")
_NUMBER = re.compile(r"(?:[\d._-]|(?<=[\d.])e(?=[\d_-]|\Z)|0x[\da-f]+|nan|inf(?:inity)?)+", re.IGNORECASE)
"""A number, or several, such as a score with its error."""


def _paragraphs(text: str) -> str:
    """Return a part of a report, cleaned and cut."""
    text = clean(text).strip()
    over = len(text) - _REPORT
    return text if over <= 0 else f"{text[:_REPORT]}… [{over} more characters left out]"


def _stripped(text: str) -> str:
    if not text:
        raise ValueError("it is empty")
    return text


def _plain(text: str) -> str:
    """Return a name that can be a folder's: letters, digits, dots, dashes and underscores."""
    name = _ODD.sub("-", text).strip("-.")[:_NAME].rstrip("-.")
    if text and not name:
        raise ValueError("a name must contain a letter or a digit")
    if _NUMBER.fullmatch(name):
        raise ValueError(f"{name} looks like a score; add a word to the name")
    if name == "index.csv":
        raise ValueError("the name index.csv is reserved for the list of experiments; choose another name")
    return name


def _plain_path(text: str) -> str:
    """Return the name of an experiment that was logged: one of a fit's models is named like `trees/lightgbm-2`."""
    return "/".join(_plain(part) for part in text.split("/", 1) if part)


def _command(text: str) -> str:
    """Return a command as it is, as changing it would make another of it."""
    if len(text) > _COMMAND or not text.isprintable():
        raise ValueError(f"a command must be one line of at most {_COMMAND} printable characters")
    return text.strip()


_Name = Annotated[str, AfterValidator(_stripped), AfterValidator(_plain)]
_KnownName = Annotated[str, AfterValidator(_plain_path)]
_Remark = Annotated[str, AfterValidator(partial(line, limit=_NOTE))]
_Column = Annotated[str, Field(min_length=1, max_length=200)]
_Columns = Annotated[tuple[_Column, ...], Field(max_length=_MAX_NAMES)]
_Paragraphs = Annotated[str, AfterValidator(_paragraphs)]

# All texts are foreign: they are cleaned and cut on construction.
_FOREIGN = ConfigDict(extra="forbid")


@dataclass(frozen=True, config=_FOREIGN)
class StatusCommand:
    """Show remaining time, money and turns."""


@dataclass(frozen=True, config=_FOREIGN)
class BoardCommand:
    """The experiments of the run."""

    all: StrictBool = False
    """Whether to show all, not only ancestors, siblings and the best."""


@dataclass(frozen=True, config=_FOREIGN)
class Log:
    """Log an experiment by its predictions: `validation`, and mostly `oof` and `test`; with the sources that made them."""

    name: _Name
    note: _Remark = ""
    retrain: Annotated[str, AfterValidator(_command)] = ""
    """The command that makes its test predictions from all labelled rows; empty: there is none."""
    uses: Annotated[tuple[Annotated[_KnownName, AfterValidator(_stripped)], ...], Field(max_length=_MAX_NAMES)] = ()
    """The experiments that it is built on."""
    compare_to: _KnownName = ""
    """The experiment that it is compared with; empty: the best one."""
    seconds: Annotated[float | None, Field(ge=0, le=1e9, allow_inf_nan=False)] = None
    """That it took to make; None: unknown."""
    check: StrictBool = False
    """Whether to check it against leaks, however good it is."""
    verbose: StrictBool = False
    """Whether to tell scores by column."""


@dataclass(frozen=True, config=_FOREIGN)
class Fit:
    """Fit the portfolio on features, which come as files: `train`, `validation` and `test`."""

    name: _Name
    note: _Remark = ""
    categories: _Columns = ()
    """Columns that hold categories, by name or by number from 0."""
    encode: _Columns = ()
    """Columns to be replaced by the target's mean, within folds; by name or by number from 0."""


@dataclass(frozen=True, config=_FOREIGN)
class Wait:
    """Wait for what the engine fits or scores."""

    name: _KnownName = ""
    """Of a fit or an experiment; empty: for all."""


@dataclass(frozen=True, config=_FOREIGN)
class ScoreCommand:
    """Run a script clean, and score it on validation rows; it comes as the source `SCRIPT`, perhaps with `INFER`."""

    note: _Remark = ""


@dataclass(frozen=True, config=_FOREIGN)
class Ideas:
    """The pool's ideas for this draft."""


@dataclass(frozen=True, config=_FOREIGN)
class NoteCommand:
    """Leave a line that other labs see."""

    text: Annotated[_Remark, AfterValidator(_stripped)]


@dataclass(frozen=True, config=_FOREIGN)
class Withdraw:
    """Take an experiment out of the ensemble and of the final selection."""

    name: Annotated[_KnownName, AfterValidator(_stripped)]
    note: _Remark = ""


@dataclass(frozen=True, config=_FOREIGN)
class DoneCommand:
    """Close the lab, with a report whose parts may be empty."""

    method: _Paragraphs = ""
    components: _Paragraphs = ""
    """The gain of each."""
    limitations: _Paragraphs = ""
    next: _Paragraphs = ""
    """Possible next steps."""
    remarks: _Paragraphs = ""
    """Text without one of these headings."""


Arguments = (
    StatusCommand | BoardCommand | Log | Fit | Wait | ScoreCommand | Ideas | NoteCommand | Withdraw | DoneCommand
)


@dataclass(frozen=True)
class LabCall:
    """One call, bounded and cleaned. What its files hold is neither: only the evaluator's worker should read them."""

    arguments: Arguments
    files: Mapping[FileRole, Path] = field(default_factory=dict)
    """With `Log` and `Fit`: copies that are ours, each with the suffix that it was sent with. They may be moved away, and
    are removed when the call is answered."""
    sources: Mapping[str, Path] = field(default_factory=dict)
    """With `Log` and `ScoreCommand`: likewise, by a relative path that is safe below any folder and no other one's folder."""

    def text(self, name: str) -> str | None:
        """Return a source's text; None: it was not sent, or is not UTF-8 text, such as a stored model."""
        path = self.sources.get(name)
        try:
            return None if path is None else path.read_bytes().decode()
        except UnicodeDecodeError:
            return None


@dataclass(frozen=True)
class LogScore:
    """What a program in a lab is told of an experiment, beside the text."""

    name: str
    """Under which it is known."""
    score: float | None = None
    """Out of fold; None: unknown, or not to be told."""
    gain: float | None = None
    """Over what it was compared with; above 0 is better."""
    std_error: float | None = None
    """Of the gain."""


@dataclass(frozen=True)
class LabAnswer:
    """The answer to a call."""

    status: int
    """Exit status of the command: 0 for success, 1 for a refusal, 2 for misuse."""
    text: str
    data: LogScore | None = None


class LabCallHandler(Protocol):
    """Answers one lab's calls."""

    @property
    def news(self) -> list[str]:
        """Lines for the coder's next observation, which others may be added to."""

    async def __call__(self, call: LabCall) -> LabAnswer:
        """Answer a call; several may run at a time."""
