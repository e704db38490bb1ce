"""The options that describe a person's data, and what is detected."""

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from state.errors import UsageError

Confidence = Literal["sure", "likely", "a guess"]
"""Data or options say so; names and contents suggest it; or another reading is about as good."""


@dataclass(frozen=True)
class SolveOptions:
    """The options of `bot solve` that describe the data; None: detect it."""

    target: str | None = None
    metric: str | None = None
    id: str | None = None
    group: str | None = None
    """The column whose groups stay together when one table is split; `none`: rows are split one by one."""
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
    """Time of the whole command; a table that takes too much of it to read is read in part."""

    def choose(self, role: str, option: str, names: Sequence[str], source: Path) -> str:
        """Return the likeliest of several tables, which is the first.

        Raises UsageError: there are several, and `yes` is not set; or there is none.
        """
        if len(names) == 1 or (names and self.yes):
            return names[0]
        if not names or not option:
            names_listed = ", ".join(names) or "none"
            raise UsageError(f"cannot tell which table in {source} contains the {role} rows: {names_listed}")
        command = f"bot solve {shlex.quote(str(source))} --{option}"
        commands = "; or ".join(f"{command} {shlex.quote(name)}" for name in names[:5])
        raise UsageError(f"{len(names)} tables may contain the {role} rows; choose one: {commands}")


@dataclass
class DetectedTask:
    """What was detected, in the order shown."""

    lines: list[tuple[str, str, Confidence]] = field(default_factory=list)
    """The topic, a sentence with the evidence, and the confidence."""

    def add(self, topic: str, sentence: str, confidence: Confidence = "sure") -> None:
        """Add a line."""
        self.lines.append((topic, sentence, confidence))
