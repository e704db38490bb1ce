"""The inputs of a coder that writes whole scripts."""

from dataclasses import dataclass

from bot.engine.budget import DraftLeft
from bot.execution.machine import Machine
from bot.execution.task import TaskText


@dataclass(frozen=True)
class Brief:
    """What a coder sees: task, draft, preview and machine; never the pools."""

    task: TaskText
    preview: str
    machine: Machine
    title: str
    draft: str
    codebase: str | None = None
    """Source of the script that the draft builds on, if any."""
    codebase_infer: str | None = None
    """Its second script, which predicts in a notebook, if it has one."""
    public: str | None = None
    """The public kernel that this source is of, such as `kernel/10`; None: a script of the run."""
    planned: bool = False
    """Whether `draft` is a plan that the script carries out, not a goal."""
    earlier: str = ""
    """Earlier solutions, for the prompts of a tree search; else empty."""


@dataclass(frozen=True)
class CoderBudget:
    """The remaining budget before the next script is written."""

    execution_seconds: float
    """Time limit of the script's scored run, which does not shrink while the model answers."""
    seconds_left: float
    scripts_left: int | None = None
    """Of the run; None: only time ends it."""
    draft: DraftLeft | None = None
    """None: the script belongs to no draft."""
    debug_seconds: float | None = None
    """Time limit of a first run on a sample; None: there is none."""
