"""What a person may say of their own data, and what is detected of the rest."""

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from state.errors import UsageError

Confidence = Literal["sure", "likely", "a guess"]
"""Whether data or options say so; names and contents suggest it; or another reading is about as good."""


@dataclass(frozen=True)
class SolveOptions:
    """The options of `bot solve` that describe the data; None: detect it."""

    target: str | None = None
    metric: str | None = None
    id: str | None = None
    group: str | None = None
    """The column whose groups stay together where one table is split; `none`: rows go one by one."""
    time: str | None = None
    """The column by which one table is split: the latest rows become the test rows."""
    shuffle: bool = False
    """Whether the rows of one dated table are split at random, not in time."""
    train: str | None = None
    test: str | None = None
    header: bool | None = None
    """Whether the first row of tables names their columns."""
    yes: bool = False
    """Whether the likelier of two readings is taken without asking."""
    seconds: float = math.inf
    """Time of the whole command: of a table that would take much of it to read, a sample of rows is learned from."""

    def choose(self, role: str, option: str, names: Sequence[str], source: Path) -> str:
        """Return the one of several tables, the likeliest first.

        Raises:
            UsageError: there are several, and the likeliest is not to be taken unasked; or there is none.
        """
        if len(names) == 1 or (names and self.yes):
            return names[0]
        if not names or not option:
            names_listed = ", ".join(names) or "none"
            raise UsageError(f"cannot tell which table of {source} holds the {role} rows: {names_listed}")
        first_names = names[:5]
        commands = "; or ".join(
            f"bot solve {shlex.quote(str(source))} --{option} {shlex.quote(name)}" for name in first_names
        )
        raise UsageError(f"{len(names)} tables may hold the {role} rows; say which: {commands}")


@dataclass
class DetectedTask:
    """What was detected, in the order in which it is shown."""

    lines: list[tuple[str, str, Confidence]] = field(default_factory=list)
    """A word for what it is, a sentence with the evidence, and how far to trust it."""

    def add(self, topic: str, sentence: str, confidence: Confidence = "sure") -> None:
        """Add a line."""
        self.lines.append((topic, sentence, confidence))
