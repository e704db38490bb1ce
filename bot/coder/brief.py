"""What a coder that writes whole scripts is given."""

from dataclasses import dataclass

from bot.engine.budget import DraftLeft
from bot.engine.results import Result
from bot.execution.machine import Machine
from bot.execution.task import TaskText


@dataclass(frozen=True)
class Brief:
    """All that a coder knows: task, draft, preview and machine; never the pools."""

    task: TaskText
    preview: str
    machine: Machine
    title: str
    draft: str
    codebase: str | None = None
    """Source of the script that the draft builds on, if any."""
    earlier: str = ""
    """What a strategy without drafts of its own says of earlier solutions, so that the next one differs; else empty."""
    results: tuple[Result, ...] = ()
    """What the run has scored so far, in the order of its nodes."""


@dataclass(frozen=True)
class CoderBudget:
    """What is left to a coder when it writes the next script, which none of these counts yet."""

    execution_seconds: float
    """Time limit of the script's scored run, however long the answer takes."""
    seconds_left: float
    """Of the run, for all that is still to be done."""
    scripts_left: int | None = None
    """Of the run; None where nothing but time ends it."""
    draft: DraftLeft | None = None
    """None where a script belongs to no draft."""
    debug_seconds: float | None = None
    """Time limit of the run on a sample that comes first; None where there is none."""
