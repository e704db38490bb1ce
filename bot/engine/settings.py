"""The settings of a run that the engine reads: its options, and their consequences on this machine."""

import math
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field

from bot.budgets.settings import BudgetSettings, Caps
from bot.knowledge.settings import KnowledgeMode, KnowledgeSettings
from sandbox import BackEndChoice, Limits
from sandbox.rules import RuleSettings
from state.closed_model import ClosedModel, Option

_TASKS_A_CORE = 32
"""Processes and threads: joblib's workers each bring threads of their own."""
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def _seconds(value: object) -> object:
    """Read `90s`, `5m`, `5h` or plain seconds."""
    if not isinstance(value, str):
        return value
    number, unit = (value[:-1], _UNITS[value[-1]]) if value[-1:] in _UNITS else (value, 1.0)
    try:
        seconds = float(number) * unit
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < math.inf:
        raise ValueError("must be a positive duration, such as 90s, 5m or 5h")
    return seconds


Seconds = Annotated[float, BeforeValidator(_seconds), Field(gt=0, lt=math.inf)]
"""Seconds, or a text such as `90s`, `5m` or `5h`."""


class SearchOptions(ClosedModel):
    """The options of any run, a replay or a live one."""

    seed: Annotated[int, Option()] = Field(default=0, description="seed for all random choices")
    blend: Annotated[bool | None, Option()] = Field(
        default=None,
        description="combine predictions into an ensemble (default: yes, except for agents whose papers use none, "
        "such as aide)",
        examples=[False],
    )
    knowledge: Annotated[KnowledgeMode, Option()] = Field(
        default="clock",
        description="knowledge base entries that prompts may contain: those known at the simulated time (clock), all, or none",
    )
    budget: Caps = Field(default=Caps(), description="Caps on one run, counting what it spent before it was resumed.")
    watch: RuleSettings = Field(default=RuleSettings(), description="When to stop a running script early.")


class MachineOptions(ClosedModel):
    """The options of a run that has this machine to itself."""

    # The papers' first budget for a competition.
    time: Annotated[Seconds, Option()] = Field(
        default=5 * 3600.0, description="wall-clock time after which a run ends, such as 90s, 5m or 5h"
    )
    steps: Annotated[int | None, Option()] = Field(
        default=None, ge=1, description="maximum number of nodes, including the baseline", examples=[20]
    )
    split_seed: Annotated[int, Option()] = Field(
        default=0, description="seed that selects the withheld rows; runs with the same seed can be compared"
    )
    parallel: Annotated[int, Option()] = Field(default=1, ge=1, description="number of nodes to work on in parallel")
    sandbox: Annotated[BackEndChoice, Option()] = Field(
        default="auto", description="where generated code runs (auto: the first sandbox that works)"
    )
    cpus: Annotated[int | None, Option()] = Field(
        default=None,
        ge=1,
        description="cores per script (default: all, divided among concurrent scripts)",
        examples=[4],
    )
    gpus: Annotated[int | None, Option()] = Field(
        default=None, ge=0, description="GPUs per script (default: 1 if the machine has one)", examples=[1]
    )


class RunSettings(SearchOptions, MachineOptions):
    """One run's settings, with the consequences of the options on this machine."""

    model: str = Field(default="builtin", description="`builtin`, `openai:NAME` or `recorded:DIR`")
    roles: dict[str, str] = Field(default={}, description="model for each role that does not use `model`")
    record: Path | None = Field(default=None, description="folder in which every model call is recorded")
    blend: bool = True
    cpus: int = Field(ge=1)
    gpus: int = Field(default=0, ge=0)
    image: str | None = Field(default=None, description="name and ID of the image for containers")
    runtime: str | None = Field(default=None, description="container runtime (default: the container engine's)")
    environment: str | None = Field(
        default=None, description="Python environment for scripts (default: the bot's own packages)"
    )
    memory_bytes: int = Field(default=Limits.memory_bytes, gt=0, description="maximum memory of one script, in bytes")
    written_bytes: int = Field(
        default=Limits.written_bytes, gt=0, description="maximum bytes that one script may write"
    )
    config: Path | None = Field(default=None, description="bot.toml")
    calls_in_flight: int = Field(default=8, ge=1, description="maximum number of concurrent model calls in the run")
    budget_of_all: BudgetSettings = BudgetSettings()
    knowledge_base: KnowledgeSettings = KnowledgeSettings()
    weights: Path | None = Field(default=None, description="folder with pretrained weights (default: no weights)")

    @property
    def limits(self) -> Limits:
        """The limits of one script; its time is limited by the run's alone."""
        tasks = max(Limits.processes, _TASKS_A_CORE * self.cpus)
        return Limits(self.time, self.memory_bytes, tasks, self.written_bytes, cpus=self.cpus)
